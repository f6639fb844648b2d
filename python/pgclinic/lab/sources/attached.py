"""A server that somebody else runs: measured as it is, never started, stopped or configured."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from pgclinic.errors import PgclinicError, UsageError
from pgclinic.lab.binaries import OnProgress
from pgclinic.model.server import Server
from pgclinic.pg.connect import connect
from pgclinic.pg.reach import reach_dsn
from pgclinic.pg.session import Access


class AttachedServer:
    """A handle that owns nothing."""

    def __init__(self, access: Access) -> None:
        self.access = access

    @property
    def server(self) -> Server:
        return self.access.server

    @property
    def secrets(self) -> Mapping[str, str]:
        return self.access.secrets

    def is_alive(self) -> bool:
        """Whether it takes a connection now."""
        try:
            connect(self.server, secrets=self.secrets).close()
        except PgclinicError:
            return False
        return True

    def stop(self) -> None:
        """Nothing: it is not ours."""

    def __enter__(self) -> AttachedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class AttachedSource:
    """``dsn`` is any connection string or URI; its password never leaves memory."""

    kind = "attached"

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def open(self, settings: Mapping[str, str], *, on_progress: OnProgress | None = None) -> AttachedServer:
        """Connect once to learn what it is. Raises UsageError when it does not answer or settings are asked for."""
        if settings:
            raise UsageError(
                f"settings of an attached server are not changed ({', '.join(settings)})",
                hint="use a server of the lab for arms with settings of their own",
            )
        return AttachedServer(reach_dsn(self._dsn))
