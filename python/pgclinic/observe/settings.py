"""What the server itself says its settings are."""

from __future__ import annotations

from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

STATEMENT_TIMEOUT_MS, LOCK_TIMEOUT_MS = 10_000, 100


def reported_settings(access: Access, names: tuple[str, ...]) -> dict[str, str]:
    """The current values of ``names`` with their units, as SHOW gives them; {} for no names."""
    if not names:
        return {}
    with _session(access) as session:
        values = dict(session.rows(query("all_settings_shown", access.major)))
    return {name: values[name.lower()] for name in names if name.lower() in values}


def changed_settings(access: Access) -> dict[str, str]:
    """All that somebody has set, with their units, as SHOW gives them.

    Texts are left out: some of them hold passwords and commands, and few are a matter of performance.
    """
    with _session(access) as session:
        return dict(session.rows(query("changed_settings", access.major)))


def _session(access: Access) -> Session:
    return Session(
        access,
        statement_timeout_ms=STATEMENT_TIMEOUT_MS,
        lock_timeout_ms=LOCK_TIMEOUT_MS,
        read_only=True,
        application_name="pgclinic-observe",
    )
