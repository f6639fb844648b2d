"""Waits until the server's statistics have heard of all that a load did."""

from __future__ import annotations

import time

from pgclinic.errors import PgclinicError
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

#: A session that stays hands its counts over about once a second; one that ends does so at once.
LONGEST_S = 1.2
#: Thousands of sessions take longer to end than that; as long as they get fewer they are waited for.
LONGEST_ENDING_S = 10.0
#: Before 15 a collector writes the counts to a file, and readers put up with one that is half a second old.
COLLECTOR_S = 0.6
SHARED_SINCE = 15
_LOOK_EVERY_S = 0.02
_STATEMENT_TIMEOUT_MS = 1000


def await_statistics(access: Access, application_name: str) -> None:
    """Wait for the end of the sessions of that name, and for the collector where there is one.

    Sessions that do not end get ``LONGEST_S``, and so does a server that cannot be asked.
    """
    began_s = time.monotonic()
    if not _have_ended(access, application_name):
        time.sleep(max(0.0, began_s + LONGEST_S - time.monotonic()))
    elif access.major < SHARED_SINCE:
        time.sleep(COLLECTOR_S)


def _have_ended(access: Access, application_name: str) -> bool:
    text = query("sessions_named", access.major)
    try:
        with Session(
            access, statement_timeout_ms=_STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe"
        ) as session:
            # One transaction for all looks: each commit would count among the load's.
            session.execute("begin")
            began_s = fewer_s = time.monotonic()
            fewest: int | None = None
            while time.monotonic() < min(fewer_s + LONGEST_S, began_s + LONGEST_ENDING_S):
                session.execute("select pg_stat_clear_snapshot()")
                (count,) = session.row(text, {"name": application_name})
                if count == 0:
                    return True
                if fewest is None or count < fewest:
                    fewest, fewer_s = count, time.monotonic()
                time.sleep(_LOOK_EVERY_S)
    except PgclinicError:
        return False
    return False
