"""Reading a live server for a checkup: its state, its machine where that is this one, and its log, at the same time."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.capture.free_connection import once_free
from pgclinic.capture.plans import check_role, read_plans
from pgclinic.capture.server_log import read_server_log
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.cli.duration import in_words
from pgclinic.cli.live import TerminalView
from pgclinic.cli.output import say
from pgclinic.model.log import LogSettings
from pgclinic.model.server import Server
from pgclinic.model.snapshot import Snapshot
from pgclinic.observe.host_watch import HostWatch
from pgclinic.pg.reach import reach_dsn
from pgclinic.pg.session import Access
from pgclinic.store.checkup_folder import Examined

#: Without an observation the machine is watched for as long as the burst of samples takes.
_HOST_S = 0.5
#: What takes less needs no progress.
_QUIET_S = 2.0


@dataclass(frozen=True)
class ReadServer:
    """What a checkup examines, and where the server is, without secrets; ``access`` is None for what was stored."""

    examined: Examined
    place: str
    access: Access | None = None


def read_server(
    dsn: str, *, observe_s: float, log: Path | None, plans: bool = False, plain: bool = False
) -> ReadServer:
    """Read a live server and return it; with ``plans`` ask it how it would run its statements.

    Raises UsageError, RunFailedError.
    """
    access = once_free(lambda: reach_dsn(dsn))
    if plans:
        once_free(lambda: check_role(access))
    host = HostWatch(access, observe_s or _HOST_S)
    with _ReadingLine(observe_s, plain=plain) as progress:
        snapshot = once_free(
            lambda: take_snapshot(access, observe_s=observe_s, on_second=progress.second, on_part=progress.part)
        )
        if plans:
            snapshot = _with_plans(access, snapshot, progress)
    named = {setting.name: setting.value for setting in snapshot.settings}
    settings = LogSettings(
        log_line_prefix=named.get("log_line_prefix", "%m [%p] "), log_timezone=named.get("log_timezone")
    )
    examined = Examined(
        snapshot=snapshot,
        host=host.state(),
        log=read_server_log(log, settings) if log is not None else None,
    )
    return ReadServer(examined, place_words(access.server), access)


def _with_plans(access: Access, snapshot: Snapshot, progress: _ReadingLine) -> Snapshot:
    found, gap = once_free(lambda: read_plans(access, snapshot, progress.plan))
    return replace(snapshot, plans=found, gaps=(*snapshot.gaps, *((gap,) if gap is not None else ())))


def place_words(server: Server) -> str:
    """Return db.example.org:5432, or /var/run/postgresql:5432 for a socket."""
    return f"{server.host}:{server.port}"


class _ReadingLine(TerminalView):
    """A line on stderr while the server is read, where that takes long enough to be asked about."""

    def __init__(self, observe_s: float, *, plain: bool) -> None:
        super().__init__(sys.stderr, plain=plain)
        self._observe_s = observe_s
        self._began_s = time.monotonic()
        if observe_s > _QUIET_S and not self._terminal:
            say(f"pgclinic: observing the server for {in_words(observe_s)}")

    def second(self, at_s: float) -> None:
        """Show how long the server is still observed."""
        if self._terminal and self._observe_s > _QUIET_S:
            left_s = max(self._observe_s - at_s, 0.0)
            self.draw(f"  observing the server, {in_words(left_s)} left")

    def plan(self, number: int, of: int) -> None:
        """Show how many statements are planned."""
        self.part(f"plans, {number} of {of}")

    def part(self, name: str) -> None:
        """Show which part of the state is read."""
        if self._terminal and time.monotonic() - self._began_s > max(_QUIET_S, self._observe_s):
            self.draw(f"  reading {name.replace('_', ' ')}")
