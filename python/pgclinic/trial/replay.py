"""A recorded horizon, held again: sessions that take a transaction id and keep it for as long as somebody did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pgclinic.errors import RunFailedError
from pgclinic.model.horizon import ReplayedHold
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.trial.holders import holder_session
from pgclinic.trial.timed import Moment, at_their_moments

#: So many sessions are left by max_connections of a server beside the load.
#: So many sessions find a place in max_connections beside the load.
HOLDS_AT_ONCE_MAX = 50


@contextmanager
def replayed(access: Access, holds: Sequence[ReplayedHold]) -> Iterator[None]:
    """Hold the horizon as ``holds`` say, in seconds from now, for the time of the ``with``.

    All of them are held by sessions: what a hold costs does not depend on who it is. What comes after the end does not
    happen. Raises RunFailedError when a hold could not be taken, or was ended by somebody else.
    """
    with ExitStack() as stack:
        sessions: list[Session] = []
        free_from_s: list[float] = []
        moments: list[Moment] = []
        for hold in sorted(holds, key=lambda one: one.at_s):
            place = next((number for number, free_s in enumerate(free_from_s) if free_s <= hold.at_s), len(sessions))
            if place == len(sessions):
                if place == HOLDS_AT_ONCE_MAX:
                    raise RunFailedError(f"more than {HOLDS_AT_ONCE_MAX} holds of the recording overlap")
                sessions.append(stack.enter_context(holder_session(access)))
                free_from_s.append(0.0)
            free_from_s[place] = hold.until_s
            moments.extend(_moments(hold, sessions[place], access.major))
        if not moments:
            yield
            return
        with at_their_moments(sorted(moments, key=lambda one: one.at_s), sessions[0]):
            yield


def _moments(hold: ReplayedHold, session: Session, major: int) -> tuple[Moment, Moment]:
    return (
        Moment(hold.at_s, _act(session, query("hold_horizon", major)), f"the hold at {hold.at_s:g} s", must_come=False),
        Moment(
            hold.until_s, lambda: _release(session, major), f"the end of a hold at {hold.until_s:g} s", must_come=False
        ),
    )


def _act(session: Session, sql: str) -> Callable[[], None]:
    def act() -> None:
        try:
            session.execute(sql)
        except QueryError as error:
            raise RunFailedError(f"a session that replays the horizon failed: {error.message}") from error

    return act


def _release(session: Session, major: int) -> None:
    try:
        (still_open,) = session.row(query("transaction_open", major))
        session.execute("rollback")
    except QueryError as error:
        raise RunFailedError(f"a session that replays the horizon was lost: {error.message}") from error
    if not still_open:
        raise RunFailedError("a transaction that replays the horizon ended before its time")
