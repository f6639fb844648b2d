"""What killed commands have left here, named and not removed, each with the command that removes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pgclinic.lab.account import server_account
from pgclinic.lab.clone import tree_bytes
from pgclinic.lab.home import lab_home
from pgclinic.lab.locks import build_lock
from pgclinic.lab.orphan_cleanup import BUILT_KINDS, reason_to_clean
from pgclinic.lab.reaper import is_served, process_start, processes_of
from pgclinic.lab.registry import entries, unreadable_entries
from pgclinic.lab.trial_databases import recorded
from pgclinic.model.doctor import Leftover, LeftoverKind
from pgclinic.store.directory_lock import is_in_use

#: Every command of the lab begins with the removal.
_REMOVES = "pgclinic lab list"
#: PostgreSQL keeps a segment of this size from version 9.3 on; it only marks that the server runs.
_INTERLOCK_BYTES = 56


def leftovers(proc: Path = Path("/proc"), shared_memory: Path = Path("/dev/shm")) -> tuple[Leftover, ...]:
    """Servers, builds, entries, shared memory and databases. Nothing where there is no lab home yet."""
    if not lab_home().is_dir():
        return tuple(shared_memory_left(proc, shared_memory))
    return (
        *_servers(),
        *_unregistered(),
        *_builds(),
        *_unreadable(),
        *shared_memory_left(proc, shared_memory),
        *_databases(),
    )


def _servers() -> Iterator[Leftover]:
    for instance in entries() if (lab_home() / "instances").is_dir() else ():
        reason = reason_to_clean(instance)
        if reason is not None:
            yield Leftover(
                kind=LeftoverKind.SERVER,
                name=instance.name,
                reason=reason,
                command=_REMOVES,
                processes=len(processes_of(instance.data_dir)),
                bytes=tree_bytes(Path(instance.directory)),
            )


def _unregistered() -> Iterator[Leftover]:
    home = lab_home() / "instances"
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        registered = path.with_name(f"{path.name}.json").exists()
        if path.is_dir() and not registered and not is_served(path) and not _is_held(path):
            yield Leftover(
                kind=LeftoverKind.SERVER,
                name=path.name,
                reason="it was never registered",
                command=_REMOVES,
                bytes=tree_bytes(path),
            )


def _is_held(path: Path) -> bool:
    """Whether a command works on it, or has removed it a moment ago."""
    try:
        return is_in_use(path)
    except OSError:
        return True


def _builds() -> Iterator[Leftover]:
    for name, kind in BUILT_KINDS.items():
        for path in sorted((lab_home() / name).glob(".new-*")):
            final = path.name.removeprefix(".new-")
            with build_lock(kind, final, wait=False) as free:
                if free and path.is_dir():
                    yield Leftover(
                        kind=LeftoverKind.BUILD,
                        name=f"{kind} {final}",
                        reason="half-built",
                        command=_REMOVES,
                        bytes=tree_bytes(path),
                    )


def _unreadable() -> Iterator[Leftover]:
    for entry in unreadable_entries() if (lab_home() / "instances").is_dir() else ():
        yield Leftover(kind=LeftoverKind.UNREADABLE_ENTRY, name=str(entry.path), reason=entry.reason, command=_REMOVES)


def _databases() -> Iterator[Leftover]:
    for record in recorded():
        if not record.is_used():
            yield Leftover(
                kind=LeftoverKind.DATABASE,
                name=record.name,
                reason=f"its trial ended on {record.host}:{record.port}",
                command="pgclinic lab leftovers DSN --drop",
            )


def shared_memory_left(proc: Path, shared_memory: Path) -> Iterator[Leftover]:
    """Segments of servers that ran as the lab's account and have gone: only what no process has mapped."""
    account = server_account()
    owner = os.geteuid() if account is None else account.uid
    for identifier, size_bytes in _interlocks(proc, owner):
        yield Leftover(
            kind=LeftoverKind.SHARED_MEMORY,
            name=f"System V segment {identifier}",
            reason="the process that made it has gone",
            command=f"ipcrm -m {identifier}",
            bytes=size_bytes,
        )
    for path, size_bytes in _unmapped(proc, shared_memory, owner).items():
        yield Leftover(
            kind=LeftoverKind.SHARED_MEMORY,
            name=str(path),
            reason="no process has it mapped",
            command=f"rm {path}",
            bytes=size_bytes,
        )


def _interlocks(proc: Path, owner: int) -> Iterator[tuple[int, int]]:
    """Number and size of a server's System V segments that nobody has attached and whose maker is gone."""
    try:
        lines = (proc / "sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        _, identifier, _, size_bytes, creator, _, attached, uid, *_ = (int(word) for word in line.split()[:8])
        if size_bytes == _INTERLOCK_BYTES and uid == owner and attached == 0 and process_start(creator) is None:
            yield identifier, size_bytes


def _unmapped(proc: Path, shared_memory: Path, owner: int) -> dict[Path, int]:
    """Files of dynamic shared memory and their sizes that no process has mapped, in two looks.

    A server that starts makes a file before it maps it; one that ends removes its files.
    """
    found: dict[Path, int] = {}
    for look in range(2):
        files = _files_of(shared_memory, owner)
        mapped = _mapped_files(proc) if files else frozenset()
        unmapped = {path: size_bytes for path, size_bytes in files.items() if str(path) not in mapped}
        found = unmapped if look == 0 else {path: found[path] for path in unmapped if path in found}
        if not found:
            break
    return found


def _files_of(shared_memory: Path, owner: int) -> dict[Path, int]:
    found = {}
    for path in sorted(shared_memory.glob("PostgreSQL.*")):
        with suppress(OSError):
            status = path.stat()
            if status.st_uid == owner:
                found[path] = status.st_size
    return found


def _mapped_files(proc: Path) -> frozenset[str]:
    found: set[str] = set()
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdigit():
            try:
                lines = (entry / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            found |= {line.split(maxsplit=5)[5] for line in lines if "/PostgreSQL." in line}
    return frozenset(found)
