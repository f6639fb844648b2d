"""What else goes on while the load runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pgclinic.errors import RunFailedError
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.pg.sql import query


@contextmanager
def conditions(access: Access, condition: Condition) -> Iterator[None]:
    """Keep ``condition`` up for the time of the ``with``.

    Raises RunFailedError at the end when it did not last: what was measured is then no trial of that condition.
    """
    match condition.horizon_held_by:
        case None:
            yield
        case Holder.SESSION:
            with _held_by_session(access):
                yield


@contextmanager
def _held_by_session(access: Access) -> Iterator[None]:
    with Session(access, statement_timeout_ms=5000, application_name="pgclinic-holder") as session:
        session.execute("set idle_in_transaction_session_timeout = 0")
        session.execute(query("hold_horizon", access.major))
        yield
        try:
            (still_open,) = session.row(query("transaction_open", access.major))
        except QueryError as error:
            raise RunFailedError(f"the session that held the horizon was lost: {error.message}") from error
        if not still_open:
            raise RunFailedError("the transaction that held the horizon ended before the trial did")
