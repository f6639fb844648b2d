"""The five that can hold the xmin horizon, each for the time of a ``with``, each checked at its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pgclinic.errors import RunFailedError
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

APPLICATION_NAME = "pgclinic-holder"
TIMEOUT_MS = 5000
#: On a machine that others keep busy a statement begins long after it was sent.
HELD_WITHIN_S = 60.0


def holder_session(access: Access, timeout_ms: int = TIMEOUT_MS, *, time_outs: bool = False) -> Session:
    """A session that may stay in a transaction as long as it likes, unless ``time_outs`` of the server shall apply."""
    session = Session(access, statement_timeout_ms=timeout_ms, application_name=APPLICATION_NAME)
    if not time_outs:
        session.execute("set idle_in_transaction_session_timeout = 0")
    return session


@contextmanager
def held_by_session(access: Access, *, may_be_ended: bool = False) -> Iterator[None]:
    """A transaction with an id, and then silence. One that may be ended is subject to the server's time-outs."""
    with holder_session(access, time_outs=may_be_ended) as session:
        session.execute(query("hold_horizon", access.major))
        yield
        if may_be_ended:
            return
        try:
            (still_open,) = session.row(query("transaction_open", access.major))
        except QueryError as error:
            raise RunFailedError(f"the session that held the horizon was lost: {error.message}") from error
        if not still_open:
            raise RunFailedError("the transaction that held the horizon ended before the trial")


@contextmanager
def held_by_query(access: Access) -> Iterator[None]:
    """One statement that goes on and on under its snapshot."""
    failures: list[QueryError] = []
    with holder_session(access, timeout_ms=0) as session, holder_session(access) as other:
        pid = session.backend_pid

        def run() -> None:
            try:
                session.execute(query("long_query", access.major))
            except QueryError as error:
                failures.append(error)

        def refuse_ended() -> None:
            if not thread.is_alive():
                reason = failures[0].message if failures else "it came to its end"
                raise RunFailedError(f"the query that held the horizon ended before the trial: {reason}")

        thread = threading.Thread(target=run, name=APPLICATION_NAME, daemon=True)
        thread.start()
        try:
            _wait_until_held(other, access, pid, thread)
            refuse_ended()
            yield
            refuse_ended()
        finally:
            with suppress(QueryError):
                other.execute(f"select pg_cancel_backend({pid})")
            thread.join(timeout=TIMEOUT_MS / 1000)


def _wait_until_held(session: Session, access: Access, pid: int, query_thread: threading.Thread) -> None:
    """Return when the query holds the horizon, or has ended. Raises RunFailedError after HELD_WITHIN_S."""
    until_s = time.monotonic() + HELD_WITHIN_S
    while time.monotonic() < until_s and query_thread.is_alive():
        held = {row[0] for row in session.rows(query("sessions_with_horizon", access.major))}
        if pid in held:
            return
        query_thread.join(0.05)
    if query_thread.is_alive():
        raise RunFailedError("the query that should hold the horizon never started")


@contextmanager
def held_by_prepared_transaction(access: Access) -> Iterator[None]:
    """A transaction that was prepared and forgotten: it belongs to no session any more."""
    with holder_session(access) as session:
        session.execute(query("hold_horizon", access.major))
        session.execute("prepare transaction 'pgclinic-holder'")
    try:
        yield
    finally:
        _undo(access, "rollback prepared 'pgclinic-holder'", "the prepared transaction that held the horizon was gone")


@contextmanager
def held_by_physical_slot(access: Access) -> Iterator[None]:
    """A standby that had fed its horizon back and was never seen again: its slot remembers."""
    from pgclinic.pg.feedback import feed_back_xmin

    with holder_session(access) as session:
        session.execute("select pg_create_physical_replication_slot('pgclinic_holder', true)")
        feed_back_xmin(access, "pgclinic_holder")
    try:
        yield
    finally:
        _undo(access, _DROP_SLOT, "the slot that held the horizon was gone")


@contextmanager
def held_by_logical_slot(access: Access) -> Iterator[None]:
    """A subscriber that was created and never came."""
    with holder_session(access, timeout_ms=60_000) as session:
        session.execute("select pg_create_logical_replication_slot('pgclinic_holder', 'pgoutput')")
    try:
        yield
    finally:
        _undo(access, _DROP_SLOT, "the slot that held the catalogs' horizon was gone")


_DROP_SLOT = "select pg_drop_replication_slot('pgclinic_holder')"


def _undo(access: Access, statement: str, problem: str) -> None:
    try:
        with holder_session(access) as session:
            session.execute(statement)
    except QueryError as error:
        raise RunFailedError(f"{problem}: {error.message}") from error
