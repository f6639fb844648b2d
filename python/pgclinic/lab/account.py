"""The account that runs servers: PostgreSQL refuses root, so root's children become somebody else."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import Any

from pgclinic.errors import UsageError
from pgclinic.model.record import Record

ACCOUNT_VARIABLE = "PGCLINIC_ACCOUNT"
DEFAULT_ACCOUNT = "nobody"


class Account(Record):
    name: str
    uid: int
    gid: int


def server_account() -> Account | None:
    """The account that servers run as; None when they run as the caller, who is not root.

    Raises UsageError when the account does not exist (initdb looks it up) or is root again.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get(ACCOUNT_VARIABLE, DEFAULT_ACCOUNT)
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(
            f"there is no account {name!r} to run servers as", hint=f"set {ACCOUNT_VARIABLE} to an existing account"
        ) from None
    if entry.pw_uid == 0:
        raise UsageError(f"the account {name!r} is root, and PostgreSQL refuses to run as root")
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def child_options(account: Account | None) -> dict[str, Any]:
    """What subprocess needs to run a server's program: the account, and an environment that decides nothing.

    The caller's PG* variables would reach the server, its locale would reach the messages that are parsed later.
    """
    options: dict[str, Any] = {
        "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "HOME": "/"},
        "cwd": "/",
        "umask": 0o077,
    }
    if account is not None:
        options |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return options


def own(path: Path, account: Account | None) -> None:
    """Give a file or directory to the account; nothing for an ordinary user, who owns it already."""
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def barrier(path: Path, account: Account) -> Path | None:
    """The first directory on the way to ``path`` that the account cannot enter, None when it gets there."""
    path = path.resolve()
    for step in (*reversed(path.parents), path):
        status = step.stat()
        if status.st_uid == account.uid:
            allowed = stat.S_IXUSR
        elif status.st_gid == account.gid:
            allowed = stat.S_IXGRP
        else:
            allowed = stat.S_IXOTH
        if not status.st_mode & allowed:
            return step
    return None
