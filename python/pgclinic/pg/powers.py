"""What a role could do beyond the database that it is connected to."""

from __future__ import annotations

from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

_TIMEOUT_MS = 10_000


def may_leave_database(access: Access) -> bool:
    """Whether the user of ``access`` could reach programs or files of the server, and so could what he runs."""
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic") as session:
        (may,) = session.row(query("may_leave_database", access.major))
    return bool(may)
