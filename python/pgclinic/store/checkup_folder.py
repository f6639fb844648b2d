"""The run folder of ``pgclinic checkup``.

run.json        what was asked, on which machine, by which tool
snapshot.json   what was read of the server
host.json       what was read of its machine; only where the server runs on this machine
log.json        what its log says; only where one was named
checkup.json    the findings
events.jsonl    a line for each proof, when it was there
report.html     made from the above
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.errors import UsageError
from pgclinic.model.checkup import Checkup
from pgclinic.model.event import ProofReached
from pgclinic.model.host import HostState
from pgclinic.model.run import RunInfo
from pgclinic.model.server_log import ServerLog
from pgclinic.model.snapshot import Snapshot
from pgclinic.store.document import read_document
from pgclinic.store.private_folder import new_private_folder, write_private_record
from pgclinic.store.run_folder import disk_errors, write_whole

_CHECKUP, _SNAPSHOT, _HOST, _LOG = "checkup.json", "snapshot.json", "host.json", "log.json"
_EVENTS = "events.jsonl"


@dataclass(frozen=True)
class Examined:
    """What a checkup is made from, as it was read."""

    snapshot: Snapshot
    host: HostState | None = None
    log: ServerLog | None = None


def write_checkup_folder(parent: Path, info: RunInfo, examined: Examined, name: str | None = None) -> Path:
    """Make a new folder below ``parent``, of this name if one is given; the checkup is written when it is done.

    Raises DiskFullError, RunFailedError.
    """
    path = new_private_folder(parent, info, examined.snapshot.server.database, name)
    with disk_errors(path):
        write_whole(path / _SNAPSHOT, msgspec.json.encode(examined.snapshot) + b"\n", private=True)
        for file, record in ((_HOST, examined.host), (_LOG, examined.log)):
            if record is not None:
                write_whole(path / file, msgspec.json.encode(record) + b"\n", private=True)
    return path


def write_checkup(path: Path, checkup: Checkup) -> None:
    """Write the findings into a folder. Raises DiskFullError, RunFailedError."""
    write_private_record(path, _CHECKUP, checkup)


def add_proof_event(path: Path, event: ProofReached) -> None:
    """Append to the folder's events. Raises DiskFullError, RunFailedError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with disk_errors(path), os.fdopen(os.open(path / _EVENTS, flags, 0o600), "ab") as out:
        out.write(msgspec.json.encode(event) + b"\n")


def read_checkup(path: Path) -> Checkup:
    """The checkup in a run folder, or in a file. Raises UsageError."""
    file = path / _CHECKUP if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise UsageError(f"{path} is not the run folder of a checkup", hint="name the folder that a checkup printed")
    return read_document(file, Checkup, "a checkup")


def read_examined(path: Path) -> Examined:
    """A snapshot from its file, or from a run folder with what was read beside it. Raises UsageError."""
    if not path.is_dir():
        return Examined(read_document(path, Snapshot, "a snapshot"))
    if not (path / _SNAPSHOT).is_file():
        raise UsageError(f"{path} is not the run folder of a checkup", hint="name a folder that a checkup printed")
    return Examined(
        snapshot=read_document(path / _SNAPSHOT, Snapshot, "a snapshot"),
        host=read_document(path / _HOST, HostState, "a machine") if (path / _HOST).is_file() else None,
        log=read_document(path / _LOG, ServerLog, "a log") if (path / _LOG).is_file() else None,
    )


def read_snapshot_of(path: Path) -> Snapshot | None:
    """What a checkup read of the server; None for a file, or a folder that has it no more. Raises UsageError."""
    file = path / _SNAPSHOT
    return read_document(file, Snapshot, "a snapshot") if file.is_file() else None
