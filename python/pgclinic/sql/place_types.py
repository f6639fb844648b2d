"""The types of places, and the values that a place must have whatever the rows are."""

from __future__ import annotations

from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.parse_tree import operator_of
from pgclinic.sql.parser import printed
from pgclinic.sql.scope import Origin
from pgclinic.sql.statement_places import PlaceUse

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
#: The value has another type than the expression beside it.
_OWN_TYPE = frozenset((PlaceUse.CONTAINS, PlaceUse.WITHIN, PlaceUse.OVERLAPS))
#: Arguments that speak of another argument of the same call: how, and of which one.
_SPEAKS_OF = {
    ("jsonb_set", 1): (PlaceUse.PATH, 0),
    ("jsonb_set", 2): (PlaceUse.MEMBER, 0),
    ("jsonb_set_lax", 1): (PlaceUse.PATH, 0),
    ("jsonb_set_lax", 2): (PlaceUse.MEMBER, 0),
    ("jsonb_insert", 1): (PlaceUse.PATH, 0),
    ("jsonb_insert", 2): (PlaceUse.MEMBER, 0),
    ("jsonb_extract_path", 1): (PlaceUse.KEY, 0),
    ("jsonb_extract_path_text", 1): (PlaceUse.KEY, 0),
    ("json_extract_path", 1): (PlaceUse.KEY, 0),
    ("json_extract_path_text", 1): (PlaceUse.KEY, 0),
    ("jsonb_exists", 1): (PlaceUse.KEY, 0),
    ("array_append", 1): (PlaceUse.MEMBER, 0),
    ("array_prepend", 0): (PlaceUse.MEMBER, 1),
    ("array_remove", 1): (PlaceUse.MEMBER, 0),
    ("array_replace", 1): (PlaceUse.MEMBER, 0),
    ("array_replace", 2): (PlaceUse.MEMBER, 0),
    ("array_position", 1): (PlaceUse.MEMBER, 0),
    ("array_positions", 1): (PlaceUse.MEMBER, 0),
    ("array_cat", 1): (PlaceUse.PART, 0),
    ("array_cat", 0): (PlaceUse.PART, 1),
}
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
        case PlaceUse.KEY | PlaceUse.PATH | PlaceUse.SEARCH | PlaceUse.CONTAINS | PlaceUse.WITHIN | PlaceUse.OVERLAPS:
            found = None
        case PlaceUse.PATTERN:
            found = "text"
    return found


def joined_type(origin: Origin | None) -> str | None:
    """What || puts together: arrays and documents with their like, other columns as text."""
    if origin is None:
        return None
    return origin.column.type if has_parts(origin) else "text"


def has_parts(origin: Origin) -> bool:
    """Whether || of two such values has the parts of both: arrays and documents."""
    return origin.column.type.endswith("[]") or origin.column.type == "jsonb"


def spoken_of(function: str, argument: int) -> tuple[PlaceUse, int] | None:
    """How an argument of a function of the server speaks of another one, and which that is; None where it does not."""
    return _SPEAKS_OF.get((function, argument))


def type_as_written(node: Any) -> str | None:
    """The type that a value without columns has by its casts: that on the left of a sum, as in ``date $1 + $2``."""
    if isinstance(node, nodes.TypeCast):
        return printed(node.typeName)
    if isinstance(node, nodes.A_Expr) and node.kind == "AEXPR_OP" and operator_of(node) in ("+", "-"):
        return type_as_written(node.lexpr)
    return None


def type_beside(value: Any, use: PlaceUse, origin: Origin | None, operator: str) -> str | None:
    """The type of a value by what stands on the other side of its operator, else by its own casts."""
    type_ = joined_type(origin) if operator == "||" else type_of_value(use, origin)
    return type_ or (type_as_written(value) if use in _OWN_TYPE else None)
