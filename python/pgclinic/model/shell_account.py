"""Who runs the shell commands of scripts: the Python side of crates/load/src/spec/shell.rs."""

from __future__ import annotations

from pgclinic.model.record import Record


class ShellAccount(Record):
    """An account of this machine; its commands are in the group ``gid`` and no other."""

    uid: int
    gid: int
