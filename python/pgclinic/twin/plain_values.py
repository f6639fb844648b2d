"""Values that need no row of the twin, and values as the texts that statements have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pgclinic.sql.statement_places import Place, PlaceUse

Value = str | tuple[str | None, ...] | None
#: The values of one execution by the number of the place; a list has one for each element.
Values = dict[int, Value]

#: Arithmetic, by the kind of value beside it.
_STEPS = {"interval": "1 day", "text": "", "character varying": ""}
_PLAIN = {
    "smallint": "1",
    "integer": "1",
    "bigint": "1",
    "numeric": "1",
    "real": "1",
    "double precision": "1",
    "money": "1",
    "oid": "1",
    "boolean": "true",
    "bool": "true",
    "text": "1",
    "character varying": "1",
    "character": "1",
    "bpchar": "1",
    "name": "a",
    "date": "2024-01-01",
    "timestamp": "2024-01-01",
    "timestamptz": "2024-01-01",
    "timestamp without time zone": "2024-01-01",
    "timestamp with time zone": "2024-01-01",
    "time without time zone": "12:00",
    "time with time zone": "12:00+00",
    "interval": "1 day",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json": "{}",
    "jsonb": "{}",
    "bytea": "",
    "inet": "192.0.2.1",
    "cidr": "192.0.2.0/24",
    "point": "(0,0)",
    "regconfig": "simple",
    "tsquery": "",
    "tsvector": "",
    "xml": "<a/>",
}
_NUMBERS = frozenset(("smallint", "integer", "bigint", "numeric", "real", "double precision", "money"))
_LENGTH = re.compile(r"\(\d+(?:,\s*-?\d+)?\)")


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


def plain_value(place: Place, type_: str | None) -> str | None:
    """The value of a place of which nothing is known but its type; None where no value of the type is known."""
    bare = _LENGTH.sub("", type_ or "text")
    if place.use is PlaceUse.BOUND and (type_ is None or bare in _NUMBERS):
        # As 0 bounds what must not be negative.
        return "0"
    if bare.endswith("[]"):
        return "{}"
    return _PLAIN.get(bare)
