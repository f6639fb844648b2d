"""The server process itself: started directly, so that it is our own child, watched and waited for."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from pgclinic.errors import ServerLostError, UsageError
from pgclinic.lab import reaper
from pgclinic.lab.account import Account, child_options
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.registry import Instance, entry_path
from pgclinic.model.server import Server
from pgclinic.pg.connect import connect

START_LIMIT_S = 60.0
_POLL_S = 0.003
_STATUS_LINE = 7
_STATUS_SINCE = 10


def start_watcher(instance: Instance) -> subprocess.Popen[bytes]:
    """The tiny process that ends the server when this process is killed. It has its own session: Ctrl-C spares it."""
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            reaper.__file__,
            str(entry_path(instance.name)),
            str(instance.data_dir),
            str(instance.owner_pid),
            str(instance.owner_start),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def launch(binaries: Binaries, instance: Instance, account: Account | None) -> subprocess.Popen[bytes]:
    """Start the server on the instance's data directory; it logs to the instance's log file.

    It works in the data directory from its first moment: that is how the watcher knows its processes. All of them
    inherit a lock, by which it is seen to live even where its processes are not.
    """
    options = child_options(account) | {"cwd": str(instance.data_dir)}
    with ExitStack() as opened:
        alive, log = _open_for(instance.alive_path, opened), _open_for(instance.log_path, opened)
        if account is not None:
            os.fchown(log, account.uid, account.gid)
        fcntl.flock(alive, fcntl.LOCK_SH)
        return subprocess.Popen(
            [str(binaries.program("postgres")), "-D", str(instance.data_dir)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(alive,),
            **options,
        )


def _open_for(path: Path, opened: ExitStack) -> int:
    """A new file of the instance; what the server's account has put there instead is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    opened.callback(os.close, descriptor)
    return descriptor


def wait_until_ready(process: subprocess.Popen[bytes], server: Server, data_dir: Path) -> bool:
    """True when the server takes connections, False when it has ended. Raises TimeoutError after START_LIMIT_S."""
    limit = time.monotonic() + START_LIMIT_S
    while process.poll() is None:
        if _is_ready(server, data_dir):
            return True
        if time.monotonic() > limit:
            raise TimeoutError
        time.sleep(_POLL_S)
    return False


def refuse_taken_port(port: int) -> None:
    """Raise UsageError when a TCP port of this machine cannot be had."""
    if not 1024 <= port <= 65535:
        raise UsageError(f"{port} is not a valid port for the lab", hint="choose one from 1024 to 65535")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                f"port {port} is taken", hint="choose another --port, or omit it: a socket needs no port"
            ) from error


def answers(server: Server) -> bool:
    """Whether the server takes a connection now. A hanging one keeps this waiting for the connect timeout."""
    try:
        connect(server).close()
    except ServerLostError:
        return False
    return True


def _is_ready(server: Server, data_dir: Path) -> bool:
    """Since 10 the lock file says so, which costs nothing and leaves no line in the server's log."""
    if server.major < _STATUS_SINCE:
        return answers(server)
    try:
        lines = (data_dir / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"
