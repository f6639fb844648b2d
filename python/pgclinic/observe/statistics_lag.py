"""Waits until the server's statistics have heard of all that a load did."""

from __future__ import annotations

import time

from pgclinic.errors import PgclinicError
from pgclinic.pg.session import Access, Session
from pgclinic.pg.sql import query

#: A session that stays hands its counts over about once a second; one that ends does so at once.
LONGEST_S = 1.2
#: Before 15 a collector writes them to a file, and readers put up with one that is half a second old.
COLLECTOR_S = 0.6
SHARED_SINCE = 15
_LOOK_EVERY_S = 0.02
_STATEMENT_TIMEOUT_MS = 1000


def await_statistics(access: Access, application_name: str) -> None:
    """Wait for the end of the sessions of that name, and for the collector where there is one; ``LONGEST_S`` at most.

    A server that cannot be asked is given all of that time.
    """
    end_s = time.monotonic() + LONGEST_S
    if not _have_ended(access, application_name, end_s):
        time.sleep(max(0.0, end_s - time.monotonic()))
    elif access.major < SHARED_SINCE:
        time.sleep(max(0.0, min(COLLECTOR_S, end_s - time.monotonic())))


def _have_ended(access: Access, application_name: str, end_s: float) -> bool:
    text = query("sessions_named", access.major)
    try:
        with Session(
            access, statement_timeout_ms=_STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe"
        ) as session:
            while time.monotonic() < end_s:
                if session.row(text, {"name": application_name}) == (0,):
                    return True
                time.sleep(_LOOK_EVERY_S)
    except PgclinicError:
        return False
    return False
