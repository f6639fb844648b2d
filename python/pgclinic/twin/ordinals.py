"""Values as whole numbers: what can be ordered, interpolated and written again without the server."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from ipaddress import IPv4Address
from typing import TypeGuard
from uuid import UUID

from pgclinic.model.row_plan import (
    DateFormat,
    DecimalFormat,
    Format,
    InetFormat,
    IntervalFormat,
    LabelFormat,
    TimeFormat,
    TimestampFormat,
    UuidFormat,
)
from pgclinic.model.twin import TwinColumn

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
#: Ordinals are 64 bits wide on their way to the generator; the highest ones stand for infinity and the like.
ORDINAL_MAX = 2**62
INTEGERS = frozenset({"int2", "int4", "int8", "oid"})
FRACTIONS = frozenset({"numeric", "float4", "float8"})
#: Of numbers without a declared scale: more places than a statistic distinguishes.
PLACES_MAX = 9
_UUID_SHIFT = 128 - 60
_EPOCH = datetime(1970, 1, 1)
_DECLARED_SCALE = re.compile(r"numeric\(\d+,\s*(-?\d+)\)")
_INTERVAL = re.compile(
    r"(?:(?P<years>-?\d+) years? ?)?(?:(?P<months>-?\d+) mons? ?)?(?:(?P<days>-?\d+) days? ?)?"
    r"(?:(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d+)?))?"
)


def format_of(column: TwinColumn, texts: Sequence[str]) -> Format | None:
    """How values of this column are written as whole numbers, None for types that are not; ``texts`` are examples."""
    if column.type_kind == "e" or column.labels:
        return LabelFormat(labels=column.labels)
    if column.type_kind != "b":
        return None
    return format_of_type(column.base_type, column.type, texts)


def format_of_type(base_type: str, declared: str, texts: Sequence[str]) -> Format | None:
    plain: dict[str, Format] = {
        "bool": LabelFormat(labels=("f", "t")),
        "date": DateFormat(),
        "timestamp": TimestampFormat(),
        "timestamptz": TimestampFormat(zone=True),
        "time": TimeFormat(),
        "uuid": UuidFormat(),
        **{name: DecimalFormat() for name in INTEGERS},
    }
    if base_type in plain:
        return plain[base_type]
    if base_type in FRACTIONS:
        match = _DECLARED_SCALE.search(declared)
        return DecimalFormat(scale=_scale(texts, int(match[1]) if match else None))
    if base_type == "interval":
        return IntervalFormat(days=any("day" in text or "mon" in text or "year" in text for text in texts))
    if base_type in {"inet", "cidr"}:
        return _inet(base_type, texts)
    return None


def _inet(base_type: str, texts: Sequence[str]) -> Format | None:
    if any(":" in text for text in texts):
        return None
    bits = {int(text.partition("/")[2]) for text in texts if "/" in text}
    if base_type == "inet" and not bits:
        return InetFormat()
    # Networks have their own lengths: one length can be interpolated, several cannot.
    return InetFormat(bits=bits.pop()) if len(bits) == 1 and base_type == "inet" else None


def _scale(texts: Sequence[str], declared: int | None) -> int:
    """So many places that the largest value still fits."""
    numbers = [number for number in map(_decimal, texts) if number is not None]
    places = declared
    if places is None:
        exponents = [number.as_tuple().exponent for number in numbers]
        places = min(PLACES_MAX, max((-exponent for exponent in exponents if isinstance(exponent, int)), default=2))
        places = max(places, 0)
    largest = max((abs(number) for number in numbers), default=Decimal(0))
    while largest * Decimal(10) ** places >= ORDINAL_MAX:
        places -= 1
    return places


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def ordinal(format: Format, text: str) -> int | None:  # noqa: A002
    """The whole number of a value; None for one that has none, as infinity or a year before Christ."""
    try:
        number = _ordinal(format, text)
    except (ValueError, OverflowError, InvalidOperation):
        return None
    return number if number is not None and abs(number) < ORDINAL_MAX else None


def _ordinal(format: Format, text: str) -> int | None:  # noqa: A002, PLR0911
    match format:
        case DecimalFormat(scale=scale):
            number = _decimal(text)
            return None if number is None else int((number * Decimal(10) ** scale).to_integral_value())
        case TimestampFormat(zone=zone):
            moment = datetime.fromisoformat(text)
            if zone and moment.tzinfo is not None:
                moment = moment.astimezone(UTC)
            passed = moment.replace(tzinfo=None) - _EPOCH
            return (passed.days * 86_400 + passed.seconds) * SECOND_US + passed.microseconds
        case DateFormat():
            return (date.fromisoformat(text) - _EPOCH.date()).days
        case TimeFormat():
            of_day = time.fromisoformat(text)
            seconds = (of_day.hour * 60 + of_day.minute) * 60 + of_day.second
            return seconds * SECOND_US + of_day.microsecond
        case IntervalFormat():
            return _interval(text)
        case UuidFormat():
            return UUID(text).int >> _UUID_SHIFT
        case InetFormat():
            return int(IPv4Address(text.partition("/")[0]))
        case LabelFormat(labels=labels):
            return labels.index(text)


def _interval(text: str) -> int | None:
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return None
    part = {name: int(value) for name, value in match.groupdict("0").items() if name in {"years", "months", "days"}}
    days = (part["years"] * 12 + part["months"]) * 30 + part["days"]
    clock = 0
    if match["hours"]:
        seconds = Decimal(match["seconds"]) + 60 * (int(match["minutes"]) + 60 * int(match["hours"]))
        clock = int(seconds * SECOND_US) * (-1 if match["sign"] else 1)
    return days * DAY_US + clock


def step_of(format: Format, ordinals: Sequence[int], distinct: int) -> int:  # noqa: A002
    """The largest step that all values keep and that leaves room for so many different ones.

    Bounds of a sequence without gaps are a hundred apart, too: therefore the room.
    """
    if len(ordinals) < 10:
        return 1
    first, last = min(ordinals), max(ordinals)
    common = math.gcd(*(value - first for value in ordinals))
    steps = [common]
    if is_time(format):
        steps += [step for step in (DAY_US, 3600 * SECOND_US, 60 * SECOND_US, SECOND_US, 1000) if common % step == 0]
    fitting = (step for step in sorted(steps, reverse=True) if step > 0 and (last - first) // step + 1 >= distinct)
    return next(fitting, 1)


def is_time(format: Format) -> TypeGuard[TimestampFormat | TimeFormat | IntervalFormat]:  # noqa: A002
    return isinstance(format, TimestampFormat | TimeFormat | IntervalFormat)
