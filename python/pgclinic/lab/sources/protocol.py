"""What every source of servers promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from pgclinic.lab.binaries import Binaries, OnProgress
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.server import Server


class ServerHandle(Protocol):
    """A server in use. Leaving its context ends what the source started, and only that."""

    @property
    def server(self) -> Server: ...

    @property
    def secrets(self) -> Mapping[str, str]: ...

    def is_alive(self) -> bool: ...

    def stop(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ServerSource(Protocol):
    """``kind`` is ``embedded``, ``maven``, ``bindir`` or ``attached``."""

    @property
    def kind(self) -> str: ...

    def open(self, settings: Mapping[str, str], *, on_progress: OnProgress | None = None) -> ServerHandle:
        """A server with these settings that takes connections. An attached server refuses all settings."""
        ...


class BinarySource(ServerSource, Protocol):
    """A source whose servers the lab starts itself."""

    @property
    def version(self) -> str:
        """The literal version that is meant, such as 13.23 for a wish of 13. Raises UnknownNameError, SourceError."""
        ...

    def find(self) -> Binaries | None:
        """The binaries if they are here already; without network."""
        ...

    def ensure(self, on_progress: OnProgress | None = None) -> Binaries:
        """The binaries, fetched when missing. Raises UnknownNameError or SourceError."""
        ...


class StartsServers(ABC):
    """``open`` for all sources of binaries."""

    @abstractmethod
    def ensure(self, on_progress: OnProgress | None = None) -> Binaries: ...

    def open(self, settings: Mapping[str, str], *, on_progress: OnProgress | None = None) -> RunningServer:
        """Start a server on an empty cluster."""
        return start_server(self.ensure(on_progress), settings=settings)


def missing_programs(bindir: Path) -> tuple[str, ...]:
    """The programs the lab needs and this directory has not."""
    return tuple(name for name in ("initdb", "postgres") if not (bindir / name).is_file())
