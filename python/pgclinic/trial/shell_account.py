"""The account of a load's shell commands: never root."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.lab.account import server_account
from pgclinic.load.engine import shell_commands
from pgclinic.model.load import LoadSpec
from pgclinic.model.shell_account import ShellAccount


def with_shell_account(load: LoadSpec) -> LoadSpec:
    """The load, whose ``\\shell`` and ``\\setshell`` run as the account of the lab's servers where the caller is root.

    Raises UsageError where root has no such account.
    """
    account = server_account() if shell_commands(load.scripts, load.protocol) else None
    return load if account is None else replace(load, shell_account=ShellAccount(uid=account.uid, gid=account.gid))
