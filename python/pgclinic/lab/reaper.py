"""Ending servers for good: every process, socket lock and shared memory of one data directory.

This file is also the program of the watcher, a tiny process beside each server that outlives a killed owner and ends
the server at once (``watch``). It therefore imports nothing but the standard library. A server's processes are known by
their program and their working directory, which PostgreSQL keeps at its data directory; process ids alone could have
been reused. Directories are compared by their resolved paths and by device and inode, because a lab home may be reached
through a symbolic link. Signals go to one process each, never to a group.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PROC = Path("/proc")
_SHARED_MEMORY = Path("/dev/shm")
_PROGRAM = "postgres"
_POLL_S = 0.005
# Between the fork and the server's first instruction it is still a copy of its owner; so look again before believing
# that there is nothing.
_LOOK_AGAIN_S = 0.05
_IPC_RMID = 0
_SEM_GETPID = 11
_SHM_RDONLY = 0o10000
_SEMAPHORES_PER_SET = 17
# Every process of a server holds a lock on this file of its instance, beside the data directory.
ALIVE_FILE = "alive"


def boot_id() -> str:
    """What tells this boot of the machine from others; process ids mean nothing in another one."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except FileNotFoundError:
        return _asked("sysctl", "-n", "kern.bootsessionuuid")


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks after boot; None when it is gone or only waits to be reaped.

    Where there is no /proc (macOS) it is in seconds of the epoch.
    """
    if not (_PROC / "self").exists():
        state, _, started = _asked("ps", "-o", "state=,lstart=", "-p", str(pid)).partition(" ")
        return int(time.mktime(time.strptime(started.strip()))) if state[:1] not in ("", "Z") else None
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _asked(*command: str) -> str:
    """The one line that a program of macOS prints, empty where it has nothing to say."""
    import subprocess

    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout.strip()


def is_running(pid: int, start: int | None) -> bool:
    """Whether that very process lives, not a later one with the same number."""
    return start is not None and process_start(pid) == start


def processes_of(data_dir: Path) -> tuple[int, ...]:
    """The server's processes that work in this data directory, also after it was deleted.

    Programs that the server runs there (an archive command) are among them; a shell of somebody who only looks into the
    directory is not.
    """
    inside = {}
    is_inside = _inside(data_dir)
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if is_inside(entry / "cwd"):
                    inside[int(entry.name)] = (entry / "exe").readlink().name.removesuffix(" (deleted)")
    ours = {pid for pid, program in inside.items() if program == _PROGRAM}
    while children := {pid for pid in inside if pid not in ours and _parent(pid) in ours}:
        ours |= children
    return tuple(sorted(ours))


def _inside(data_dir: Path) -> Callable[[Path], bool]:
    """Whether a link in /proc leads to ``data_dir``, by whatever path either was reached."""
    place = os.path.realpath(data_dir)
    goals = {place, f"{place} (deleted)"}
    identity = _identity(data_dir)

    def leads_there(link: Path) -> bool:
        target = str(link.readlink())
        if target in goals:
            return True
        # The same directory has another path where it is mounted twice.
        return target.endswith(f"/{data_dir.name}") and identity is not None and _identity(link) == identity

    return leads_there


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_served(directory: Path) -> bool:
    """Whether a server still works on the data of an instance's directory.

    Seen by its processes, by its lock file where their directories may not be read, or by the lock that all its
    processes hold: that one is seen even where the processes are not, as between two containers.
    """
    data_dir = directory / "data"
    return bool(processes_of(data_dir)) or _hidden_postmaster(data_dir) or _is_locked(directory / ALIVE_FILE)


def _hidden_postmaster(data_dir: Path) -> bool:
    """Whether postmaster.pid names a living server of somebody else, whose working directory is not ours to read."""
    try:
        pid = int((data_dir / "postmaster.pid").read_text().splitlines()[0])
        program = (_PROC / str(pid) / "comm").read_text().strip()
    except (OSError, ValueError, IndexError):
        return False
    try:
        (_PROC / str(pid) / "cwd").readlink()
    except PermissionError:
        return program == _PROGRAM
    except OSError:
        return False
    return False


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def end_processes(data_dir: Path, patience_s: float = 4.0) -> int:
    """End all processes of a data directory; returns how many there were.

    The server is asked to shut down immediately and killed with all its children after ``patience_s``.
    """
    first = pids = processes_of(data_dir)
    files, numbers = _segments_of(pids)
    if pids:
        _signal(_roots(pids), signal.SIGQUIT)
        pids = _wait_gone(data_dir, patience_s)
    limit = time.monotonic() + patience_s
    while pids and time.monotonic() < limit:
        _signal(pids, signal.SIGKILL)
        pids = _wait_gone(data_dir, 0.2)
    if first:
        _remove_shared_memory(data_dir, files, numbers)
    return len(first)


def remove_shared_memory(data_dir: Path) -> None:
    """Remove what a server that was killed from outside left in shared memory. Its processes must be gone."""
    _remove_shared_memory(data_dir, set(), set())


def _roots(pids: tuple[int, ...]) -> tuple[int, ...]:
    """The processes whose parent is none of them: the postmaster, or its orphans."""
    return tuple(pid for pid in pids if _parent(pid) not in pids)


def _parent(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def _signal(pids: tuple[int, ...], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _wait_gone(data_dir: Path, limit_s: float) -> tuple[int, ...]:
    end = time.monotonic() + limit_s
    while (pids := processes_of(data_dir)) and time.monotonic() < end:
        time.sleep(_POLL_S)
    return pids


def _segments_of(pids: tuple[int, ...]) -> tuple[set[Path], set[int]]:
    """Files of dynamic shared memory, and System V segments by number, that these processes have mapped."""
    files, numbers = set(), set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in (_PROC / str(pid) / "maps").read_text().splitlines():
                # Addresses, rights, offset, device, inode (of System V memory its number), path.
                fields = line.split(maxsplit=5)
                path = fields[5] if len(fields) > 5 else ""
                if path.startswith("/dev/shm/PostgreSQL."):
                    files.add(Path(path.removesuffix(" (deleted)")))
                elif path.startswith("/SYSV"):
                    numbers.add(int(fields[4]))
    return files, numbers


def _remove_shared_memory(data_dir: Path, files: set[Path], numbers: set[int]) -> None:
    """A server that ended by itself has removed its lock file and its memory; a killed one left both."""
    try:
        lines = (data_dir / "postmaster.pid").read_text().splitlines()
    except OSError:
        lines = []
    with contextlib.suppress(ValueError, IndexError):  # half of a lock file names nothing that could be removed
        creator = int(lines[0])
        _remove_semaphores(creator)
        files |= _remove_interlock(int(lines[6].split()[1]), creator)
    for number in numbers:
        # Seen in use by its processes a moment ago; where they removed it themselves, this does nothing.
        ctypes.CDLL(None).shmctl(number, _IPC_RMID, None)
    for path in files:
        path.unlink(missing_ok=True)


def _remove_interlock(identifier: int, creator: int) -> set[Path]:
    """Remove the System V segment of a dead server; returns the files of dynamic memory it leads to.

    The segment starts with magic, creator, total size, first free byte, and the handle of the control segment.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    libc.shmdt.argtypes = (ctypes.c_void_p,)
    address = libc.shmat(identifier, None, _SHM_RDONLY)
    if address is None or address == ctypes.c_void_p(-1).value:
        return set()
    _, owner, _, _, control = struct.unpack("<iiQQI", ctypes.string_at(address, 28))
    libc.shmdt(address)
    if owner != creator:
        return set()
    libc.shmctl(identifier, _IPC_RMID, None)
    return _listed_in(_SHARED_MEMORY / f"PostgreSQL.{control}")


def _listed_in(control: Path) -> set[Path]:
    """The control segment lists its segments by handle; any word of it that names an existing file is one."""
    try:
        content = control.read_bytes()
    except OSError:
        return set()
    words = struct.unpack(f"<{len(content) // 4}I", content[: len(content) // 4 * 4])
    candidates = {_SHARED_MEMORY / f"PostgreSQL.{word}" for word in words if word}
    return {path for path in candidates if path.exists()} | {control}


def _remove_semaphores(creator: int) -> None:
    """PostgreSQL 9.6 uses System V semaphores; the last one of each set carries the id of the process that made it."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        lines = (_PROC / "sysvipc/sem").read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        identifier, count = int(line.split()[1]), int(line.split()[3])
        if count == _SEMAPHORES_PER_SET and libc.semctl(identifier, count - 1, _SEM_GETPID) == creator:
            libc.semctl(identifier, 0, _IPC_RMID)


def wait_for_end(pid: int, start: int) -> None:
    """Return when that process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:  # an old kernel
        while is_running(pid, start):
            time.sleep(0.2)
        return
    if is_running(pid, start):
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.poll()
    os.close(descriptor)


def watch(entry: Path, data_dir: Path, owner_pid: int, owner_start: int) -> None:
    """Wait for the owner to end; when its server is still registered and not detached, end the server.

    Files stay: the next command removes them and says so.
    """
    wait_for_end(owner_pid, owner_start)
    if not _left_behind(entry, owner_pid, owner_start):
        return
    end_processes(data_dir)
    time.sleep(_LOOK_AGAIN_S)
    end_processes(data_dir)


def _left_behind(entry: Path, owner_pid: int, owner_start: int) -> bool:
    """Whether the entry is still there and still this owner's: its name may have been given to another server since.

    An entry that cannot be read belongs to the owner that ended, for nobody else is watched from here.
    """
    try:
        found = json.loads(entry.read_text())
        return not found["detached"] and (found["owner_pid"], found["owner_start"]) == (owner_pid, owner_start)
    except FileNotFoundError:
        return False  # stopped in good order
    except (OSError, ValueError, KeyError, TypeError):
        return True


if __name__ == "__main__":
    watch(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
