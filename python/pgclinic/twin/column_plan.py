"""Statistics of one column -> what the generator makes of it: exact counts, and values like those that are known."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from pgclinic.model.row_plan import (
    ColumnPlan,
    CommonValue,
    DateFormat,
    DecimalFormat,
    DocumentMaker,
    Element,
    ElementsMaker,
    Format,
    InetFormat,
    IntervalFormat,
    LabelFormat,
    ListedMaker,
    Maker,
    OrdinalMaker,
    RangeMaker,
    TextMaker,
    TimeFormat,
    TimestampFormat,
    UuidFormat,
)
from pgclinic.model.twin import ColumnStatistics, TwinColumn
from pgclinic.twin.distinct_values import rest_distinct
from pgclinic.twin.ordinals import DAY_US, SECOND_US, format_of, format_of_type, ordinal, step_of

TEXTS = frozenset({"text", "varchar", "bpchar", "citext", "name"})
DOCUMENTS = frozenset({"json", "jsonb"})
#: A text or a binary value below this has a header of one byte, above it one of four.
SHORT_DATUM = 127
_CHARS_MAX = re.compile(r"(?:character varying|character|varchar|bpchar|char)\((\d+)\)")
#: A row of whole numbers, in which any digit may be another one.
_NUMBERS = re.compile(r"\([\d,]*\)")
_NUMERIC_DIGITS = re.compile(r"numeric\((\d+)")
_RANGE_LOW = re.compile(r'[\[(]"?([^",]*)"?,')
_SUBTYPES = {
    "int4range": "int4",
    "int8range": "int8",
    "numrange": "numeric",
    "daterange": "date",
    "tsrange": "timestamp",
    "tstzrange": "timestamptz",
}
#: A value of each type that has neither statistics nor a rule of its own.
_ANY_VALUE = {
    "money": "1.00",
    "macaddr": "08:00:2b:01:02:03",
    "macaddr8": "08:00:2b:01:02:03:04:05",
    "point": "(0,0)",
    "line": "{1,1,0}",
    "lseg": "[(0,0),(1,1)]",
    "box": "(1,1),(0,0)",
    "path": "((0,0),(1,1))",
    "polygon": "((0,0),(1,1))",
    "circle": "<(0,0),1>",
    "xml": "<a/>",
    "inet": "10.0.0.1",
    "cidr": "10.0.0.0/8",
    "timetz": "12:00:00+00",
    "pg_lsn": "0/1",
    "tsquery": "'a'",
    "char": "a",
}
_YEAR_2024_DAYS = 19_723
#: Where nothing is known of a column that is no key.
_DISTINCT_UNKNOWN = 100.0
_WIDTH_UNKNOWN = 17
#: Wider values are in no statistics, however many rows there are (WIDTH_THRESHOLD of ANALYZE, in bytes).
_WIDE = 1024
#: A default that is one constant, as pg_get_expr prints it.
_QUOTED_DEFAULT = re.compile(r"'((?:[^']|'')*)'::")


def column_plan(
    column: TwinColumn,
    *,
    rows: int,
    scale: float,
    unique: bool,
    within: Sequence[str] = (),
    known: frozenset[str] = frozenset(),
    grows: float = 1.0,
) -> ColumnPlan:
    """The plan of a column for ``rows`` rows, which are ``scale`` times those that the statistics are about.

    A ``unique`` column has no value twice. ``within`` are the bounds of its partition, where it has one, ``known``
    values that it has beside those of its own statistics. A number of distinct values becomes ``grows`` times as many.
    """
    found = _with_default(column, unique=unique) or unknown_statistics(column, unique=unique, within=within)
    nulls = 0 if column.not_null else min(rows, round(found.null_share * rows))
    filled = rows - nulls
    texts = (*found.common_values, *found.histogram)
    written = format_of(column, texts)
    common = () if unique else _common(found, rows, filled, written, has_rest=_has_rest(found, rows / scale))
    rest = filled - sum(value.rows for value in common)
    distinct = (
        rest
        if unique
        else _rest_distinct(found, rows, scale if found.distinct < 0 else grows, rest, len(common), scale)
    )
    if known and not unique:
        more = _known_only(found, known, written)
        distinct = max(distinct - len(more), min(rest, 1))
        common += more
    return ColumnPlan(
        maker=_maker(column, found, written, distinct, within),
        nulls=nulls,
        common=common,
        distinct=distinct,
        correlation=found.correlation if found.correlation is not None else 0.0,
        unique=unique,
    )


def _with_default(column: TwinColumn, *, unique: bool) -> ColumnStatistics | None:
    """The statistics; those of a single row have no value, and get that of the column's default.

    A first user's settings are such a row, and a function would refuse any other text: now() at time zone u.timezone.
    """
    found = column.statistics
    default = _QUOTED_DEFAULT.match(column.default or "")
    if found is None or default is None or unique or found.common_values or found.histogram or found.width > _WIDE:
        return found
    value = default[1].replace("''", "'")
    return replace(found, common_values=(value,), common_shares=(1.0 - found.null_share,), distinct=1.0)


def unknown_statistics(column: TwinColumn, *, unique: bool, within: Sequence[str] = ()) -> ColumnStatistics:
    """What is assumed of a column that was never analyzed, or whose statistics may not be read."""
    if column.labels or column.base_type == "bool":
        distinct = float(len(column.labels) or 2)
    else:
        distinct = -1.0 if unique else _DISTINCT_UNKNOWN
    return ColumnStatistics(
        null_share=0.0,
        width=_WIDTH_UNKNOWN,
        distinct=distinct,
        histogram=tuple(within) if len(within) == 2 else (),
        common_values=tuple(within) if len(within) == 1 else (),
        common_shares=(1.0,) if len(within) == 1 else (),
    )


def _has_rest(found: ColumnStatistics, rows: float) -> bool:
    """Whether there are values that are not common. One alone has no histogram; distinct values still count it."""
    distinct = -found.distinct * rows if found.distinct < 0 else found.distinct
    return bool(found.histogram) or distinct > len(found.common_values) + 0.5


def _common(
    found: ColumnStatistics, rows: int, filled: int, written: Format | None, *, has_rest: bool
) -> tuple[CommonValue, ...]:
    """The common values with their rows, which are exact: what rounding would lose is carried on to the next value."""
    shares = found.common_shares[: len(found.common_values)]
    total = sum(shares)
    whole = filled if not has_rest and total > 0 else min(filled, round(total * rows))
    key = _sort_key(written, found.histogram)
    bounds = sorted(key(bound) for bound in found.histogram)
    made = []
    passed, given = 0.0, 0
    for text, share in zip(found.common_values, shares, strict=False):
        passed += share
        until = round(passed / total * whole) if total else 0
        if until > given:
            place = bisect_right(bounds, key(text)) - 0.5
            number = ordinal(written, text) if written is not None else None
            made.append(CommonValue(text=text, ordinal=number, place=place, rows=until - given))
            given = until
    return tuple(sorted(made, key=lambda one: key(one.text)))


def _known_only(found: ColumnStatistics, known: frozenset[str], written: Format | None) -> tuple[CommonValue, ...]:
    """Values without rows of their own, which joint values will give them."""
    key = _sort_key(written, found.histogram)
    bounds = sorted(key(bound) for bound in found.histogram)
    return tuple(
        CommonValue(
            text=text,
            ordinal=ordinal(written, text) if written is not None else None,
            place=bisect_right(bounds, key(text)) - 0.5,
            rows=0,
        )
        for text in sorted(known - set(found.common_values) - set(found.histogram))
    )


def _sort_key(written: Format | None, bounds: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """An order near that of the column: numbers, bytes where the bounds ascend so, else letters without their case."""
    if written is not None:
        return lambda text: (ordinal(written, text) or 0, "")
    if bounds and list(bounds) == sorted(bounds):
        return lambda text: (0, text)
    return lambda text: (0, "".join(one for one in text.casefold() if one.isalnum()) + text)


def _rest_distinct(found: ColumnStatistics, rows: int, grows: float, rest: int, common: int, scale: float) -> int:
    if rest <= 0:
        return 0
    original = max(rows / scale, 1.0)
    kept = min(len(found.common_values), len(found.common_shares))
    rest_share = max(1.0 - found.null_share - sum(found.common_shares[:kept]), 0.0)
    if rest_share <= 0:
        return max(1, min(rest, kept - common))
    there = rest_distinct(found.distinct, kept, original, rest_share, 1.0 - found.null_share)
    there *= grows
    # Every bound is a value of its own.
    if grows >= 1.0 or found.distinct < 0:
        there = max(there, min(len(set(found.histogram)), rest))
    return max(1, min(rest, round(there)))


def _maker(  # noqa: PLR0911
    column: TwinColumn, found: ColumnStatistics, written: Format | None, distinct: int, within: Sequence[str]
) -> Maker:
    base = column.base_type
    if written is not None:
        return _ordinal_maker(found, written, distinct, within, column.type)
    if base in TEXTS:
        limit = _CHARS_MAX.search(column.type)
        return TextMaker(
            bounds=found.histogram,
            bytes=0.0 if base == "bpchar" else _rest_bytes(found),
            chars_max=int(limit[1]) if limit else 63 if base == "name" else None,
        )
    if base in DOCUMENTS:
        return DocumentMaker(templates=found.histogram or found.common_values, bytes=float(found.width))
    if base == "bytea":
        # What has no backslash is taken as it is by the type, whatever the values looked like.
        return TextMaker(bytes=_rest_bytes(found))
    if column.category == "A" and column.element_type is not None:
        return _elements_maker(column, found)
    if base == "tsvector":
        return ElementsMaker(elements=_elements(found) or (Element(text="a", share=1.0),), counts=(5.0,), lexemes=True)
    if column.type_kind == "r" and base in _SUBTYPES:
        return _range_maker(found, base, distinct)
    known = tuple(found.histogram) or found.common_values
    if column.type_kind == "c" and known and all(_NUMBERS.fullmatch(text) for text in known):
        return TextMaker(bounds=known, rigid=True)
    return ListedMaker(values=known or _any_value(column))


def _any_value(column: TwinColumn) -> tuple[str, ...]:
    base = column.base_type
    if base in {"bit", "varbit"}:
        bits = re.search(r"\((\d+)\)", column.type)
        return ("0" * (int(bits[1]) if bits else 1),)
    if column.type_kind == "m":
        return ("{}",)
    if column.type_kind == "r":
        return ("empty",)
    return (_ANY_VALUE.get(base, ""),)


def _rest_bytes(found: ColumnStatistics) -> float:
    """The mean length of the values that are not common, from the mean of all."""
    header = 1 if found.width < SHORT_DATUM else 4
    filled = 1.0 - found.null_share
    pairs = list(zip(found.common_values, found.common_shares, strict=False))
    rest = filled - sum(share for _, share in pairs)
    if rest <= 0.01:
        return float(max(found.width - header, 1))
    common = sum(share * len(text.encode()) for text, share in pairs)
    return max((found.width - header) * filled - common, rest) / rest


def _ordinal_maker(
    found: ColumnStatistics, written: Format, distinct: int, within: Sequence[str], type_: str
) -> OrdinalMaker:
    numbers = [number for text in found.histogram if (number := ordinal(written, text)) is not None]
    common = [number for text in found.common_values if (number := ordinal(written, text)) is not None]
    if not numbers and not common:
        low, high = _default_bounds(written, distinct)
        digits = _NUMERIC_DIGITS.match(type_)
        # numeric(4,4) has no room for 1; half of the room is left for values beyond the bounds.
        numbers = [low, high if digits is None else min(high, 10 ** int(digits[1]) // 2)]
    elif not numbers:
        # Only common values are known: what else there is has to be another one.
        numbers = _others(written, common, distinct)
    ends = [number for text in within if (number := ordinal(written, text)) is not None]
    if len(ends) == 2:
        # The upper end of a partition is not in it.
        numbers = [min(max(number, ends[0]), ends[1] - 1) for number in numbers]
    return OrdinalMaker(
        format=written,
        bounds=tuple(sorted(numbers)),
        step=step_of(written, numbers + common, distinct),
        extends=not within and not isinstance(written, LabelFormat),
    )


def _others(written: Format, common: Sequence[int], distinct: int) -> list[int]:
    if isinstance(written, LabelFormat):
        unused = sorted(set(range(len(written.labels))) - set(common))
        return [unused[0], unused[0]] if unused else [min(common), max(common)]
    return [max(common) + 1, max(common) + max(distinct, 1)]


def _default_bounds(written: Format, distinct: int) -> tuple[int, int]:  # noqa: PLR0911
    match written:
        case DecimalFormat(scale=0):
            return 1, max(distinct, 1)
        case DecimalFormat(scale=scale):
            return 0, 10 ** max(scale + 3, 1)
        case TimestampFormat():
            return _YEAR_2024_DAYS * DAY_US, (_YEAR_2024_DAYS + 365) * DAY_US
        case DateFormat():
            return _YEAR_2024_DAYS, _YEAR_2024_DAYS + max(365, distinct)
        case TimeFormat():
            return 0, DAY_US - SECOND_US
        case IntervalFormat():
            return 0, DAY_US
        case UuidFormat():
            return 0, 2**60 - 1
        case InetFormat():
            return 10 << 24, (10 << 24) + max(distinct, 256)
        case LabelFormat(labels=labels):
            return 0, max(len(labels) - 1, 0)


def _elements(found: ColumnStatistics) -> tuple[Element, ...]:
    pairs = zip(found.common_elements, found.common_element_shares, strict=False)
    return tuple(Element(text=text, share=share) for text, share in pairs)


def _elements_maker(column: TwinColumn, found: ColumnStatistics) -> ElementsMaker | ListedMaker:
    elements = _elements(found)
    if elements:
        # The last one is the mean.
        return ElementsMaker(elements=elements, counts=tuple(found.element_counts[:-1]) or (1.0,))
    if found.histogram:
        return ListedMaker(values=found.histogram)
    element = column.element_type or "text"
    numbers = format_of_type(element, "", ())
    if element in TEXTS or isinstance(numbers, DecimalFormat):
        few = tuple(Element(text=str(number), share=0.2) for number in range(1, 11))
        return ElementsMaker(elements=few, counts=(1.0, 3.0))
    return ListedMaker(values=("{}",))


def _length(length: float, unit: int) -> int:
    """A length in the unit of the bounds, -1 for a range that has no end."""
    return round(length * unit) if math.isfinite(length) else -1


def _range_maker(found: ColumnStatistics, base: str, distinct: int) -> Maker:
    subtype = _SUBTYPES[base]
    lows = [match[1] for text in (*found.histogram, *found.common_values) if (match := _RANGE_LOW.match(text))]
    written = format_of_type(subtype, "", lows)
    assert written is not None
    numbers = sorted(number for text in lows if (number := ordinal(written, text)) is not None)
    low, high = _default_bounds(written, distinct)
    unit = SECOND_US if isinstance(written, TimestampFormat) else 1
    if isinstance(written, DecimalFormat):
        unit = 10 ** max(written.scale, 0)
    lengths = [_length(float(text), unit) for text in found.range_lengths]
    return RangeMaker(
        format=written,
        bounds=tuple(numbers) if numbers else (low, high),
        step=step_of(written, numbers, distinct),
        lengths=tuple(lengths) or (unit,),
        empty_share=found.range_empty_share or 0.0,
    )
