"""What happens at given moments of a trial: SQL of the study, and the holder letting go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from pgclinic.errors import PgclinicError, RunFailedError
from pgclinic.model.study import Step
from pgclinic.pg.session import Access, QueryError, Session

TIMEOUT_MS = 60_000
_JOIN_S = 5.0


@dataclass(frozen=True)
class Moment:
    """``act`` at ``at_s`` seconds from now, and then every ``every_s``. ``about`` names it in errors.

    Where it ``must_come``, a trial that ends before is an error.
    """

    at_s: float
    act: Callable[[], None]
    about: str
    every_s: float | None = None
    must_come: bool = True


@contextmanager
def steps_session(access: Access) -> Iterator[Session]:
    """The session that runs a condition's steps."""
    with Session(
        access.of_author, statement_timeout_ms=TIMEOUT_MS, application_name="pgclinic-steps", users_search_path=True
    ) as session:
        yield session


def moments_of(session: Session, steps: Sequence[Step]) -> tuple[Moment, ...]:
    """When ``session`` runs which step."""
    return tuple(
        Moment(step.at_s, _runner(session, step), f"the step at {step.at_s:g} s", step.every_s) for step in steps
    )


def _runner(session: Session, step: Step) -> Callable[[], None]:
    return lambda: _run(session, step)


def _run(session: Session, step: Step) -> None:
    try:
        session.execute(step.sql)
    except QueryError as error:
        raise RunFailedError(f"the step at {step.at_s:g} s failed: {error.message}") from error


@contextmanager
def at_their_moments(moments: Sequence[Moment], session: Session) -> Iterator[None]:
    """Let ``moments`` happen during the ``with``, one after the other, in a thread of their own.

    Raises RunFailedError at the end when one failed, or when its moment never came.
    """
    thread = _Timetable(moments)
    thread.start()
    try:
        yield
    finally:
        thread.stopping.set()
        thread.join(timeout=_JOIN_S)
        if thread.is_alive():
            with suppress(QueryError):
                session.abandon()
            thread.join(timeout=_JOIN_S)
    thread.raise_problem()


class _Timetable(threading.Thread):
    def __init__(self, moments: Sequence[Moment]) -> None:
        super().__init__(name="pgclinic-steps", daemon=True)
        self.stopping = threading.Event()
        # A number in the second place: moments of the same second keep their order and are never compared themselves.
        self._due = [(moment.at_s, number, moment) for number, moment in enumerate(moments)]
        heapify(self._due)
        self._not_yet = {moment.about for moment in moments if moment.must_come}
        self._problem: PgclinicError | None = None

    def run(self) -> None:
        begun_s = time.monotonic()
        while self._due:
            at_s, number, moment = heappop(self._due)
            if self.stopping.wait(max(0.0, begun_s + at_s - time.monotonic())):
                return
            try:
                moment.act()
            except PgclinicError as error:
                self._problem = error
                return
            self._not_yet.discard(moment.about)
            if moment.every_s is not None:
                heappush(self._due, (at_s + moment.every_s, number, moment))

    def raise_problem(self) -> None:
        if self._problem is not None:
            raise RunFailedError(self._problem.message)
        if self._not_yet:
            raise RunFailedError(f"the trial ended before {sorted(self._not_yet)[0]}")
