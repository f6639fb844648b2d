"""Which mask a column gets: by its type, as far as the form of the type's texts is known."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.twin import MaskMethod, TwinColumn


class Kind(Enum):
    """What the texts of a column are: ``shape`` how scalars stand in them, ``method`` what is done to these."""

    TEXT = ("scalar", MaskMethod.TRIE, "")
    INTEGER = ("scalar", MaskMethod.MONOTONE, "")
    NUMBER = ("scalar", MaskMethod.MONOTONE, "", "number")
    TIME = ("scalar", MaskMethod.MONOTONE, "", "time")
    HEXADECIMAL = ("scalar", MaskMethod.TRIE, "", "hexadecimal")
    ADDRESS = ("scalar", MaskMethod.MONOTONE, "", "address")
    JSON = ("json", MaskMethod.JSON, "")
    JSON_KEY = ("scalar", MaskMethod.JSON, "", "key")
    RECORD = ("record", MaskMethod.TRIE, "", "record")
    TEXT_ARRAY = ("array", MaskMethod.TRIE, "")
    NUMBER_ARRAY = ("array", MaskMethod.MONOTONE, "", "number")
    TIME_ARRAY = ("array", MaskMethod.MONOTONE, "", "time")
    HEXADECIMAL_ARRAY = ("array", MaskMethod.TRIE, "", "hexadecimal")
    NUMBER_RANGE = ("range", MaskMethod.MONOTONE, "", "number")
    TIME_RANGE = ("range", MaskMethod.MONOTONE, "", "time")
    TEXT_RANGE = ("range", MaskMethod.TRIE, "")
    ENUM = ("scalar", MaskMethod.NONE, "enum")
    BOOLEAN = ("scalar", MaskMethod.NONE, "boolean")
    DURATION = ("scalar", MaskMethod.NONE, "duration")
    OTHER = ("none", MaskMethod.DROPPED, "type")

    @property
    def shape(self) -> str:
        return str(self.value[0])

    @property
    def method(self) -> MaskMethod:
        return MaskMethod(self.value[1])

    @property
    def reason(self) -> str:
        return str(self.value[2])


_SCALARS = {
    Kind.TEXT_ARRAY: Kind.TEXT,
    Kind.TEXT_RANGE: Kind.TEXT,
    Kind.NUMBER_ARRAY: Kind.NUMBER,
    Kind.NUMBER_RANGE: Kind.NUMBER,
    Kind.TIME_ARRAY: Kind.TIME,
    Kind.TIME_RANGE: Kind.TIME,
    Kind.HEXADECIMAL_ARRAY: Kind.HEXADECIMAL,
}
_BY_TYPE = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "citext", "tsvector"), Kind.TEXT),
    **dict.fromkeys(("int2", "int4", "int8"), Kind.INTEGER),
    **dict.fromkeys(("numeric", "float4", "float8"), Kind.NUMBER),
    **dict.fromkeys(("date", "timestamp", "timestamptz", "time"), Kind.TIME),
    **dict.fromkeys(("uuid", "bytea", "macaddr", "macaddr8"), Kind.HEXADECIMAL),
    **dict.fromkeys(("inet", "cidr"), Kind.ADDRESS),
    **dict.fromkeys(("json", "jsonb"), Kind.JSON),
    "bool": Kind.BOOLEAN,
    "interval": Kind.DURATION,
}
_ARRAYS = {
    Kind.TEXT: Kind.TEXT_ARRAY,
    Kind.INTEGER: Kind.NUMBER_ARRAY,
    Kind.NUMBER: Kind.NUMBER_ARRAY,
    Kind.TIME: Kind.TIME_ARRAY,
    Kind.HEXADECIMAL: Kind.HEXADECIMAL_ARRAY,
}
_RANGES = {
    Kind.TEXT: Kind.TEXT_RANGE,
    Kind.INTEGER: Kind.NUMBER_RANGE,
    Kind.NUMBER: Kind.NUMBER_RANGE,
    Kind.TIME: Kind.TIME_RANGE,
}


def kind_of(column: TwinColumn) -> Kind:
    """The kind of a column. Values of a type whose form is not known are removed, which is safe."""
    element = _BY_TYPE.get(column.element_type or "", Kind.OTHER)
    # The elements that ANALYZE counts of a text for searching are its words.
    if column.base_type == "tsvector":
        return Kind.TEXT_ARRAY
    if column.type_kind == "e":
        return Kind.ENUM
    if column.type_kind == "r":
        return _RANGES.get(element, Kind.OTHER)
    if column.type_kind == "c":
        return Kind.RECORD
    if column.category == "A":
        return _ARRAYS.get(element, Kind.OTHER)
    return _BY_TYPE.get(column.base_type, Kind.OTHER)


def scalar_kind(kind: Kind) -> Kind:
    """The kind of what stands in an array or a range, or the kind itself."""
    return _SCALARS.get(kind, kind)
