"""An installed PostgreSQL that the lab can run, and how its making is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pgclinic.model.record import Record
from pgclinic.model.version import Version, parse_version


class Binaries(Record):
    """Programs of one version. ``bindir`` is absolute and reachable by the account that runs servers.

    ``source`` is ``embedded``, ``maven`` or ``bindir``.
    """

    bindir: Path
    version: str
    source: str

    @property
    def parsed(self) -> Version:
        return parse_version(self.version)

    @property
    def identity(self) -> str:
        """Equal for binaries that can share data directories: a build is known by its size, an own one by its place."""
        status = self.program("postgres").stat()
        place = f"{self.bindir}|{status.st_mtime_ns}" if self.source == "bindir" else self.source
        return f"{place}|{self.version}|{status.st_size}"

    @property
    def has_jit(self) -> bool:
        """Whether it was built with LLVM, so that its servers can compile expressions."""
        return any(self.bindir.parent.glob("lib/**/llvmjit.so"))

    def program(self, name: str) -> Path:
        return self.bindir / name


class FetchProgress(Record):
    """How far a download or a fill is. ``total_bytes`` is None where it is not known beforehand."""

    what: str
    done_bytes: int
    total_bytes: int | None = None


OnProgress = Callable[[FetchProgress], None]
