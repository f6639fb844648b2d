"""What runs: one file per instance, written before its server is started, removed after everything else of it."""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path

import msgspec

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.lab.account import own, server_account
from pgclinic.lab.home import folder, socket_directory
from pgclinic.lab.locks import named_lock
from pgclinic.lab.reaper import boot_id, is_running, process_start
from pgclinic.model.record import Record
from pgclinic.model.server import Server

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


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

    @property
    def data_dir(self) -> Path:
        return Path(self.directory) / "data"

    @property
    def log_path(self) -> Path:
        return Path(self.directory) / "server.log"

    def owner_lives(self) -> bool:
        return self.boot == boot_id() and is_running(self.owner_pid, self.owner_start)

    def server_lives(self) -> bool:
        return self.boot == boot_id() and self.pid is not None and is_running(self.pid, self.pid_start)


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
            raise UsageError(f"a server named {chosen} exists already", hint=f"pgclinic lab stop {chosen}")
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
            save(instance)
            for path in {directory, Path(instance.socket_dir)}:
                path.mkdir(mode=0o700)
                own(path, account)
        except BaseException:
            entry_path(chosen).unlink(missing_ok=True)
            raise
    return instance


def save(instance: Instance) -> None:
    """Write an entry so that a reader sees the old or the new one, never half of it."""
    path = entry_path(instance.name)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(instance))
    temporary.rename(path)


def entries() -> tuple[Instance, ...]:
    """All registered instances by age, the oldest first."""
    found = []
    for path in folder("instances").glob("*.json"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Instance))
        except FileNotFoundError:
            continue
    return tuple(sorted(found, key=lambda instance: instance.created_epoch_s))


def running() -> tuple[Instance, ...]:
    """Those whose server has answered and still lives."""
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
        raise UsageError("more than one server is running, which one is meant?", hint=f"name one of {names}")
    return known[0]


def _free_name(major: int) -> str:
    while entry_path(name := f"pg{major}-{secrets.token_hex(2)}").exists():
        continue
    return name
