"""Values that need no row of the twin, and values as the texts that statements have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pgclinic.pg.place_types import BOUNDS
from pgclinic.pg.statement_places import Place

#: Arithmetic, by the kind of value beside it.
_STEPS = {"interval": "1 day", "text": "", "character varying": ""}
_PLAIN = {
    "boolean": "true",
    "bool": "true",
    "date": "2024-01-01",
    "timestamp": "2024-01-01",
    "timestamptz": "2024-01-01",
    "interval": "1 day",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def pattern_of(value: str, prefix: int) -> str:
    """What LIKE finds such values by: their first ``prefix`` characters."""
    escaped = re.sub(r"([\\%_])", r"\\\1", value[:prefix])
    return f"{escaped}%"


def array_of(values: Iterable[str | None]) -> str:
    """The text of an array; nulls are left out."""
    escaped = ('"' + re.sub(r'(["\\])', r"\\\1", value) + '"' for value in values if value is not None)
    return "{" + ",".join(escaped) + "}"


def step_of(place: Place) -> str:
    """What is added to a value: one."""
    return _STEPS.get(str(place.type), "1")


def plain_value(place: Place) -> str | None:
    """The value of a place of which nothing is known but its type."""
    if place.function in BOUNDS:
        return "0"
    type_ = (place.type or "").split("(")[0]
    if type_ in _PLAIN:
        return _PLAIN[type_]
    return "{}" if type_.endswith("[]") or type_ in ("json", "jsonb") else "1"
