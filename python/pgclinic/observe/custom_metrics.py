"""A study's custom metrics: one number each, read from the server after the load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pgclinic.errors import RunFailedError
from pgclinic.pg.session import Access, Session

STATEMENT_TIMEOUT_MS = 30_000


def read_custom_metrics(access: Access, statements: Mapping[str, str]) -> dict[str, float]:
    """The first column of the first row of each statement; one that returns NULL is left out.

    Raises QueryError when a statement fails, RunFailedError when it returns no number.
    """
    if not statements:
        return {}
    values = {}
    with Session(
        access.of_author,
        statement_timeout_ms=STATEMENT_TIMEOUT_MS,
        application_name="pgclinic-observe",
        users_search_path=True,
    ) as session:
        for name, statement in statements.items():
            value = session.row(statement)[0]
            if value is None:
                continue
            values[name] = number_of(name, value)
    return values


def number_of(name: str, value: Any) -> float:
    """The value of a custom metric as a number. Raises RunFailedError."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    # NaN and infinity are numbers to PostgreSQL; no record can hold them.
    if not math.isfinite(number):
        raise RunFailedError(f"the custom metric {name} returned {value!r}, which is not a finite number")
    return number
