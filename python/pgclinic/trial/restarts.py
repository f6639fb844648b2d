"""Whether a trial's server crashed or restarted between the start and the end of its load.

A server that crashes ends all sessions, recovers and goes on: clients connect again, and what they measured is of two
servers, the second with cold caches and without the work of the crash.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from types import TracebackType

from pgclinic.errors import DiskFullError, PgclinicError, RunFailedError, ServerLostError
from pgclinic.model.load import LoadResult
from pgclinic.model.log import AnyLogEvent, ErrorLogged, ProcessEnded, ServerPhase
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.trial.server_log import TrialLog

#: What a server logs only when it crashes, recovers or stops.
_PHASES = frozenset(
    (
        "was interrupted",
        "recovering",
        "ending all processes",
        "reinitializing",
        "shutdown requested",
        "shutting down",
        "stopped",
    )
)
#: crash_shutdown and cannot_connect_now: only a server that crashed, restarts or stops sends these to clients.
_SENT_BY_CRASHES = frozenset(("57P02", "57P03"))
_QUERY_TIMEOUT_MS = 5000


class RestartWatch:
    """Around the load of one trial. What fails inside because the server crashed is raised as that crash."""

    def __init__(self, access: Access, application: str) -> None:
        self._access = access
        self._application = application

    def __enter__(self) -> RestartWatch:
        self._start = _server_start(self._access)
        self._log = TrialLog(self._access.server, self._application)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, RunFailedError) and not isinstance(error, DiskFullError):
            crash = logged_crash([one.event for one in self._log.read(0.0).kept])
            if crash is not None:
                raise ServerLostError(_words(crash)) from error

    def restart(self, load: LoadResult, logged: Iterable[AnyLogEvent]) -> str | None:
        """That and why the server crashed or restarted meanwhile, None if it did not."""
        crash = logged_crash(logged) or crash_seen_by_clients(load)
        if crash is None and self._has_restarted():
            crash = "its processes are newer than the start of the load, and its log does not say why"
        return None if crash is None else _words(crash)

    def _has_restarted(self) -> bool:
        """False also where the server does not say: a busy one, or a user without rights."""
        if self._start is None:
            return False
        after = _server_start(self._access)
        return after is not None and any(
            now is not None and before is not None and now != before
            for before, now in zip(self._start, after, strict=True)
        )


def logged_crash(events: Iterable[AnyLogEvent]) -> str | None:
    """The line that says why the server crashed or stopped, None where nothing says that it did."""
    cause: str | None = None
    for event in events:
        if isinstance(event, ErrorLogged) and event.severity == "PANIC":
            cause = f"PANIC: {event.message}"
        elif isinstance(event, ProcessEnded) and event.signal is not None and cause is None:
            cause = f"{event.process} (PID {event.ended_pid}) was terminated by signal {_signal_words(event.signal)}"
        elif isinstance(event, ServerPhase) and event.phase in _PHASES:
            return cause or event.message
    return None


def crash_seen_by_clients(load: LoadResult) -> str | None:
    """What the server told the load's clients of its crash, None where it told nothing of the kind."""
    for failure in load.failures:
        if failure.sqlstate in _SENT_BY_CRASHES:
            return f"{failure.message} ({failure.sqlstate}, {failure.count}x)"
    return None


def _words(crash: str) -> str:
    return f"the server crashed or restarted during the trial: {crash}"


def _signal_words(number: int) -> str:
    words = signal.strsignal(number) if 0 < number < signal.NSIG else None
    return f"{number}: {words}" if words else str(number)


def _server_start(access: Access) -> tuple[str | None, str | None] | None:
    """When the postmaster and its children were started; None where the server does not answer."""
    try:
        with Session(access, statement_timeout_ms=_QUERY_TIMEOUT_MS, application_name="pgclinic-observe") as session:
            postmaster, children = session.row(query("server_start", access.major))
    except PgclinicError:
        return None
    return postmaster, children
