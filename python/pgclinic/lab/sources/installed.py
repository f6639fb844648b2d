"""A PostgreSQL that is installed already, by the directory of its programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.account import barrier, child_options, server_account
from pgclinic.lab.binaries import Binaries, OnProgress
from pgclinic.lab.sources.protocol import StartsServers, missing_programs
from pgclinic.model.version import OLDEST_SUPPORTED, parse_version


class InstalledSource(StartsServers):
    """``bindir`` holds ``postgres`` and ``initdb``."""

    kind = "bindir"

    def __init__(self, bindir: Path) -> None:
        self.bindir = bindir.absolute()

    @property
    def version(self) -> str:
        return self.ensure().version

    def find(self) -> Binaries | None:
        return self.ensure()

    def ensure(self, on_progress: OnProgress | None = None) -> Binaries:
        """Check the directory and ask its version. Raises UsageError when it cannot be used."""
        if missing := missing_programs(self.bindir):
            inner = self.bindir / "bin"
            hint = f"did you mean {inner}?" if not missing_programs(inner) else None
            raise UsageError(f"{self.bindir} has no {' and no '.join(missing)}", hint=hint)
        account = server_account()
        if account is not None and (wall := barrier(self.bindir, account)) is not None:
            raise UsageError(
                f"the account {account.name}, which runs the servers, cannot enter {wall}",
                hint="install PostgreSQL where it can, or set PGCLINIC_ACCOUNT",
            )
        return Binaries(bindir=self.bindir, version=self._version(), source=self.kind)

    def _version(self) -> str:
        command = [str(self.bindir / "postgres"), "--version"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=10, check=True, **child_options(server_account())
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"{command[0]} does not run: {error}") from error
        version = parse_version(done.stdout.partition(")")[2])
        if version.number < OLDEST_SUPPORTED:
            raise UsageError(f"{self.bindir} is PostgreSQL {version}; the lab runs 9.6 and newer")
        return str(version)
