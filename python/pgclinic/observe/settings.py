"""What the server itself says its settings are."""

from __future__ import annotations

from pgclinic.pg.session import Access, Session
from pgclinic.pg.sql import query

STATEMENT_TIMEOUT_MS = 10_000


def reported_settings(access: Access, names: tuple[str, ...]) -> dict[str, str]:
    """The current values of ``names`` with their units, as SHOW gives them; {} for no names."""
    if not names:
        return {}
    with Session(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe") as session:
        values = dict(session.rows(query("all_settings_shown", access.major)))
    return {name: values[name.lower()] for name in names if name.lower() in values}
