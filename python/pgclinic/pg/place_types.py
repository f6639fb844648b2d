"""The types of places, and the values that a place must have whatever the rows are."""

from __future__ import annotations

from pgclinic.pg.scope import Origin
from pgclinic.pg.statement_places import PlaceUse

#: Arithmetic with these takes a value of the column's own type; with dates and times it takes another.
ARITHMETIC = frozenset(("smallint", "integer", "bigint", "numeric", "real", "double precision", "money", "interval"))
_DELTA_TYPES = {
    "date": "integer",
    "timestamp with time zone": "interval",
    "timestamp without time zone": "interval",
    "text": "text",
    "character varying": "text",
    "jsonb": "jsonb",
}
#: A value here bounds others, as 0 does those that must not be negative.
BOUNDS = frozenset(("greatest", "least"))
#: Arguments that name a unit or a form, and would be refused otherwise.
UNITS = {
    ("date_trunc", 0): "day",
    ("date_part", 0): "day",
    ("extract", 0): "day",
    ("to_char", 1): "YYYY-MM-DD",
    ("to_timestamp", 1): "YYYY-MM-DD",
    ("to_date", 1): "YYYY-MM-DD",
    ("timezone", 0): "UTC",
    ("string_agg", 1): ", ",
    ("split_part", 1): "-",
    ("round", 1): "2",
    ("percentile_cont", 0): "0.5",
    ("percentile_disc", 0): "0.5",
}


def type_of_value(use: PlaceUse, origin: Origin | None) -> str | None:
    """The type of a place that is compared with, or assigned to, a column; None where the server finds it."""
    if origin is None:
        return None
    column = origin.column
    found: str | None = column.type
    match use:
        case PlaceUse.ARRAY:
            found = f"{column.type}[]"
        case PlaceUse.ELEMENT:
            found = column.element
        case PlaceUse.DELTA if column.type not in ARITHMETIC:
            found = _DELTA_TYPES.get(column.type)
        case PlaceUse.KEY | PlaceUse.SEARCH | PlaceUse.CONTAINS | PlaceUse.WITHIN | PlaceUse.OVERLAPS:
            found = None
        case PlaceUse.PATTERN:
            found = "text"
    return found


def joined_type(origin: Origin | None) -> str | None:
    """What || puts together: arrays and documents with their like, anything else as text."""
    if origin is not None and (origin.column.type.endswith("[]") or origin.column.type == "jsonb"):
        return origin.column.type
    return "text"
