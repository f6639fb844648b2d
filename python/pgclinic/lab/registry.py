"""What runs: one file per instance, written before its server is started, removed after everything else of it."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.lab.account import own, server_account
from pgclinic.lab.home import folder, socket_directory
from pgclinic.lab.locks import named_lock
from pgclinic.lab.reaper import ALIVE_FILE, boot_id, is_running, process_start
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.model.server import Server

# An instance's directory lies beside the entries, and must not be taken for one.
_NAME = re.compile(r"(?!.*\.(?:json|new)$)[a-z0-9][a-z0-9_.-]{0,39}")
FORMAT = 1


class Instance(Record):
    """One server of the lab, from the moment its name is taken.

    ``owner_start`` and ``pid_start`` are clock ticks after boot: with them a process id cannot be mistaken for a later
    process. ``server`` is None until it has answered. A ``detached`` instance outlives its owner.
    """

    name: str
    version: str
    directory: str
    socket_dir: str
    boot: str
    owner_pid: int
    owner_start: int
    created_epoch_s: float
    detached: bool = False
    pid: int | None = None
    pid_start: int | None = None
    server: Server | None = None
    format: int = FORMAT

    @property
    def data_dir(self) -> Path:
        return Path(self.directory) / "data"

    @property
    def alive_path(self) -> Path:
        """The file that every process of the server holds a lock on."""
        return Path(self.directory) / ALIVE_FILE

    @property
    def log_path(self) -> Path:
        return Path(self.directory) / "server.log"

    def owner_lives(self) -> bool:
        return self.boot == boot_id() and is_running(self.owner_pid, self.owner_start)

    def server_lives(self) -> bool:
        return self.boot == boot_id() and self.pid is not None and is_running(self.pid, self.pid_start)


@dataclass(frozen=True)
class Unreadable:
    """An entry that this pgclinic cannot use. ``newer`` is one of a format that it does not know yet."""

    path: Path
    reason: str
    newer: bool = False

    @property
    def directory(self) -> Path:
        """Where the instance's files are."""
        return self.path.with_suffix("")


def entry_path(name: str) -> Path:
    return folder("instances") / f"{name}.json"


def reserve(name: str | None, version: str, major: int) -> Instance:
    """Take a name (a new one when None) for this process and make the instance's directory.

    Raises UsageError when the name is taken or cannot be a file's name.
    """
    if name is not None and _NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} cannot be a server's name", hint="use up to 40 of a-z, 0-9, dot, dash, underscore")
    account = server_account()
    with named_lock("registry"):
        chosen = name or _free_name(major)
        if entry_path(chosen).exists():
            raise UsageError(f"a server named {chosen} already exists", hint=f"pgclinic lab stop {chosen}")
        directory = folder("instances") / chosen
        instance = Instance(
            name=chosen,
            version=version,
            directory=str(directory),
            socket_dir=str(socket_directory(directory)),
            boot=boot_id(),
            owner_pid=os.getpid(),
            owner_start=process_start(os.getpid()) or 0,
            created_epoch_s=time.time(),
        )
        try:
            _write(instance)
            for path in {directory, Path(instance.socket_dir)}:
                path.mkdir(mode=0o700)
                own(path, account)
        except BaseException:
            entry_path(chosen).unlink(missing_ok=True)
            raise
    return instance


def save(instance: Instance) -> None:
    """Write an entry so that a reader sees the old or the new one, never half of it, also after a power failure."""
    with named_lock("registry"):
        _write(instance)


def _write(instance: Instance) -> None:
    """Entries are written with the registry locked, so that who holds the lock may remove what a killed writer left."""
    path = entry_path(instance.name)
    temporary = path.with_suffix(".new")
    with temporary.open("wb") as out:
        out.write(msgspec.json.encode(instance))
        out.flush()
        os.fsync(out.fileno())
    temporary.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def entries() -> tuple[Instance, ...]:
    """All registered instances by age, the oldest first; entries that cannot be read are not among them."""
    found = [read for read in _read_all() if isinstance(read, Instance)]
    return tuple(sorted(found, key=lambda instance: instance.created_epoch_s))


def unreadable_entries() -> tuple[Unreadable, ...]:
    """Entries that are damaged, empty, or of a newer pgclinic."""
    return tuple(read for read in _read_all() if isinstance(read, Unreadable))


def set_aside(entry: Unreadable) -> Path:
    """Give an entry that cannot be read another name, so that no command meets it again; where it is now."""
    return entry.path.rename(entry.path.with_name(f"{entry.path.name}.set-aside"))


def _read_all() -> Iterator[Instance | Unreadable]:
    for path in folder("instances").glob("*.json"):
        try:
            content = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            continue
        except OSError as error:
            yield Unreadable(path, error.strerror or str(error))
            continue
        yield _read(path, content)


def _read(path: Path, content: bytes) -> Instance | Unreadable:
    if not content:
        return Unreadable(path, "it is empty")
    try:
        instance = decoded_json(content, Instance)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        written = _format_of(content)
        if written is not None and written > FORMAT:
            return Unreadable(path, f"a newer pgclinic wrote it (format {written})", newer=True)
        return Unreadable(path, f"it is damaged: {error}")
    if instance.format > FORMAT:
        return Unreadable(path, f"a newer pgclinic wrote it (format {instance.format})", newer=True)
    if instance.name != path.stem or _NAME.fullmatch(instance.name) is None:
        return Unreadable(path, f"it names another server, {instance.name!r}")
    # What will be deleted is what lies beside the entry, wherever the home was when it was written.
    return msgspec.structs.replace(instance, directory=str(path.with_suffix("")))


def _format_of(content: bytes) -> int | None:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    written = found.get("format") if isinstance(found, dict) else None
    return written if isinstance(written, int) else None


def running() -> tuple[Instance, ...]:
    """The instances whose server has answered and still lives."""
    return tuple(instance for instance in entries() if instance.server is not None and instance.server_lives())


def find(name: str | None) -> Instance:
    """The running instance of that name, or the only one when no name is given. Raises UsageError else."""
    known = running()
    if name is not None:
        for instance in known:
            if instance.name == name:
                return instance
        raise UnknownNameError("server", name, (instance.name for instance in known))
    if not known:
        raise UsageError("no server is running", hint="pgclinic lab start")
    if len(known) > 1:
        names = ", ".join(instance.name for instance in known)
        raise UsageError("more than one server is running; name one", hint=f"name one of {names}")
    return known[0]


def _free_name(major: int) -> str:
    while entry_path(name := f"pg{major}-{secrets.token_hex(2)}").exists():
        continue
    return name
