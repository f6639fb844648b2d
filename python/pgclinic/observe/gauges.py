"""A study's own gauges: one number each, read from the server when the load is over."""

from __future__ import annotations

from collections.abc import Mapping

from pgclinic.errors import RunFailedError
from pgclinic.pg.session import Access, Session

STATEMENT_TIMEOUT_MS = 30_000


def read_gauges(access: Access, gauges: Mapping[str, str]) -> dict[str, float]:
    """The first column of the first row of each statement; one that gives NULL is left out.

    Raises QueryError when a statement fails, RunFailedError when it gives no number.
    """
    if not gauges:
        return {}
    values = {}
    with Session(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe") as session:
        for name, statement in gauges.items():
            value = session.row(statement)[0]
            if value is None:
                continue
            try:
                values[name] = float(value)
            except (TypeError, ValueError):
                raise RunFailedError(f"the gauge {name} gave {value!r}, which is no number") from None
    return values
