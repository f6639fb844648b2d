"""Where the lab keeps its files, and where its sockets can live.

::

    versions/<version>/          an install tree of that version
    clusters/<version>-<sum>/    an empty data directory, and the settings this version knows
    templates/<name>/            a filled data directory
    instances/<name>.json        what runs, or ran when its owner was killed
    instances/<name>/            its data, log and socket
    databases/<name>.json        a trial's database on a server of somebody else, until it is dropped
    temporary/<purpose>-<x>/     files of a command that runs
    locks/                       files that are only ever locked
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from pgclinic.errors import DiskFullError, UsageError
from pgclinic.lab.account import barrier, server_account

HOME_VARIABLE = "PGCLINIC_HOME"
SHORT_PREFIX = "pgc-"
# The kernel's limit for a socket path is 107 bytes; the server appends "/.s.PGSQL.5432" and ".lock".
SOCKET_DIRECTORY_BYTES_MAX = 107 - len("/.s.PGSQL.65535.lock")


def lab_home() -> Path:
    """The directory of all lab files: PGCLINIC_HOME, or a cache directory (a system one for root).

    Raises UsageError where there is neither.
    """
    if chosen := os.environ.get(HOME_VARIABLE):
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return Path("/var/cache/pgclinic")
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache) / "pgclinic"
    try:
        return Path.home() / ".cache" / "pgclinic"
    except RuntimeError:
        raise UsageError(
            f"user {os.geteuid()} has no home directory to keep the lab's files in",
            hint=f"set {HOME_VARIABLE} to a directory",
        ) from None


def folder(name: str) -> Path:
    """A folder of the lab home, made when missing. Raises UsageError where servers could not reach it."""
    path = lab_home() / name
    if path.is_dir():
        return path
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o755)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFullError(f"no room for the lab's files in {path.parent}") from error
        raise UsageError(
            f"the lab cannot keep its files in {path}: {error.strerror}",
            hint=f"set {HOME_VARIABLE} to another directory",
        ) from error
    account = server_account()
    if account is not None and (wall := barrier(path, account)) is not None:
        raise UsageError(
            f"the account {account.name}, which runs the servers, cannot enter {wall}",
            hint=f"set {HOME_VARIABLE} to a directory it can reach",
        )
    return path


def socket_directory(instance: Path) -> Path:
    """Where an instance's socket goes: its own directory, or a short one where that path is too long for a socket.

    The short one does not exist yet; whoever makes it must insist on being the first.
    """
    if len(os.fsencode(instance)) <= SOCKET_DIRECTORY_BYTES_MAX:
        return instance
    return Path("/tmp") / f"{SHORT_PREFIX}{secrets.token_hex(4)}"
