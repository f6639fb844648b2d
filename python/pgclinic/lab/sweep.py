"""Cleaning up after what was killed: every command begins with it and says what it found."""

from __future__ import annotations

import shutil
from pathlib import Path

from pgclinic.lab.clone import tree_bytes
from pgclinic.lab.dismantle import dismantle
from pgclinic.lab.failure import last_words, log_tail
from pgclinic.lab.home import folder, lab_home
from pgclinic.lab.locks import named_lock
from pgclinic.lab.reaper import boot_id
from pgclinic.lab.registry import Instance, entries
from pgclinic.model.record import Record

_KINDS = {"versions": "version", "clusters": "cluster", "templates": "template"}


class Cleaned(Record):
    """One thing that was removed. ``kind`` is ``server``, ``version``, ``cluster`` or ``template``."""

    kind: str
    name: str
    reason: str
    processes: int
    bytes: int


def sweep() -> tuple[Cleaned, ...]:
    """Remove what dead commands left: their servers with all processes, and everything half-built."""
    if not lab_home().is_dir():
        return ()
    cleaned = []
    for instance in entries():
        reason = _reason_to_clean(instance)
        if reason is None:
            continue
        size = tree_bytes(Path(instance.directory))
        processes = dismantle(instance, wait=False)
        if processes is not None:
            cleaned.append(Cleaned(kind="server", name=instance.name, reason=reason, processes=processes, bytes=size))
    cleaned += _unregistered()
    for name, kind in _KINDS.items():
        cleaned += _half_built(name, kind)
    return tuple(cleaned)


def _reason_to_clean(instance: Instance) -> str | None:
    if instance.boot != boot_id():
        return "the machine was restarted"
    if instance.detached:
        if instance.server_lives():
            return None
        line = last_words(log_tail(instance.log_path, instance.data_dir))[0]
        return "the server had died" + (f": {line}" if line else "")
    return None if instance.owner_lives() else "its command was killed"


def _unregistered() -> list[Cleaned]:
    """Directories whose command was killed between taking the name and registering, or while removing them."""
    cleaned = []
    with named_lock("registry"):
        known = {Path(instance.directory) for instance in entries()}
        for path in folder("instances").iterdir():
            if path.is_dir() and path not in known:
                cleaned.append(_remove(path, "server", "it was never registered"))
    return cleaned


def _half_built(name: str, kind: str) -> list[Cleaned]:
    """A build works under a hidden name and holds a lock; without the lock nobody works on it any more."""
    cleaned = []
    for path in folder(name).glob(".new-*"):
        final = path.name.removeprefix(".new-")
        with named_lock(f"{kind}-{final}", wait=False) as free:
            if free and path.is_dir():
                cleaned.append(_remove(path, kind, "half-built"))
    return cleaned


def _remove(path: Path, kind: str, reason: str) -> Cleaned:
    size = tree_bytes(path)
    shutil.rmtree(path, ignore_errors=True)
    return Cleaned(kind=kind, name=path.name.removeprefix(".new-"), reason=reason, processes=0, bytes=size)
