"""Values of settings, read as PostgreSQL reads them: numbers with units, truth values, names.

Everything here is pure. A value that PostgreSQL would refuse raises ValueError with the reason.
"""

from __future__ import annotations

import math
import re

_KIB = 1024.0
# From the largest unit to the smallest: a fraction is rounded to whole units of the next smaller one.
_MEMORY: tuple[tuple[str, float], ...] = (
    ("TB", _KIB**4),
    ("GB", _KIB**3),
    ("MB", _KIB**2),
    ("kB", _KIB),
    ("B", 1.0),
)
_TIME: tuple[tuple[str, float], ...] = (
    ("d", 86_400_000.0),
    ("h", 3_600_000.0),
    ("min", 60_000.0),
    ("s", 1000.0),
    ("ms", 1.0),
    ("us", 0.001),
)
_BASE_UNIT = re.compile(r"(\d*)(B|kB|MB|GB|TB|us|ms|s|min|h|d)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_OCTAL_INTEGER = re.compile(r"[+-]?0[0-7]*")
_HEXADECIMAL_INTEGER = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?")
_SPECIAL = re.compile(r"[+-]?(?:inf(?:inity)?|nan)", re.IGNORECASE)
_BLANK = " \t\n\v\f\r"
_SMALLEST_NORMAL = 2.2250738585072014e-308
FRACTIONS_SINCE = 12
MICROSECONDS_SINCE = 12
BYTES_SINCE = 11


def parse_bool(text: str) -> bool:
    """``on off true false yes no 1 0``, any case, any prefix that fits only one. Raises ValueError."""
    word = text.lower()
    if word in ("1", "on") or (word and ("true".startswith(word) or "yes".startswith(word))):
        return True
    if word in ("0", "of", "off") or (word and ("false".startswith(word) or "no".startswith(word))):
        return False
    raise ValueError("it is on or off")


def parse_integer(text: str, unit: str | None, major: int) -> int:
    """A whole number in units of ``unit`` (pg_settings.unit, None for a plain number). Raises ValueError."""
    stripped = text.lstrip(_BLANK)
    value, rest = _integer_prefix(stripped)
    if math.isnan(value):
        # Without a digit strtol stops at the very beginning, before the blanks: the server reads .5 but not " .5".
        rest = text
    if major >= FRACTIONS_SINCE and rest[:1] in (".", "e", "E"):
        value, rest = _float_prefix(stripped)
    if math.isnan(value):
        raise ValueError("it is a whole number" if unit is None else f"it is a number{_units_hint(unit, major)}")
    exact = _in_base_unit(value, rest, unit, major)
    # A unit may carry a number that is still finite beyond all that is.
    if math.isinf(exact) or not -(2**31) <= round(exact) <= 2**31 - 1:
        raise ValueError("it exceeds the range of integers")
    return round(exact)


def parse_real(text: str, unit: str | None, major: int) -> float:
    """A number in units of ``unit``. Raises ValueError."""
    value, rest = _float_prefix(text.lstrip(_BLANK))
    if math.isnan(value):
        raise ValueError("it is a number" + _units_hint(unit, major))
    return _in_base_unit(value, rest, unit if major >= FRACTIONS_SINCE else None, major)


def units_of(unit: str, major: int) -> tuple[str, ...]:
    """The units that a value may be written in, the smallest first."""
    table, _ = _table(unit)
    return tuple(name for name, _ in reversed(table) if _known(name, major))


def unit_size(unit: str) -> float:
    """Bytes or seconds of one ``unit``, such as 8192 of 8kB. Raises ValueError."""
    table, base = _table(unit)
    return base if table is _MEMORY else base / 1000.0


def format_amount(value: float, unit: str | None) -> str:
    """A value of pg_settings with its unit, in the largest unit that shows it without a fraction: 128MB."""
    if unit is None or value in (-1, 0):
        return f"{value:.15g}"
    table, base = _table(unit)
    for name, size in table:
        amount = value * base / size
        if amount == math.floor(amount):
            return f"{amount:.0f}{name}"
    return f"{value:.15g} x {unit}"


def _integer_prefix(text: str) -> tuple[float, str]:
    """What C's strtol reads from the start, and the rest: a leading zero means octal and stops at an 8 or 9."""
    for pattern, base in ((_HEXADECIMAL_INTEGER, 16), (_OCTAL_INTEGER, 8), (_INTEGER, 10)):
        if match := pattern.match(text):
            return float(int(match[0], base)), text[match.end() :]
    return math.nan, text


def _float_prefix(text: str) -> tuple[float, str]:
    """What strtod reads from the start, and the rest. Overflow and underflow raise ValueError, as they do there."""
    for pattern in (_SPECIAL, _HEXADECIMAL, _DECIMAL):
        if match := pattern.match(text):
            word = match[0]
            try:
                value = float.fromhex(word) if pattern is _HEXADECIMAL else float(word)
            except OverflowError:
                value = math.inf
            underflow = abs(value) < _SMALLEST_NORMAL and re.search(r"[1-9a-fA-F]", re.split(r"[eEpP]", word)[0])
            if pattern is not _SPECIAL and (math.isinf(value) or underflow):
                raise ValueError("it is out of the range of numbers")
            return value, text[match.end() :]
    return math.nan, text


def _in_base_unit(value: float, rest: str, unit: str | None, major: int) -> float:
    name = rest.strip(_BLANK)
    if not name:
        return value
    if unit is None:
        raise ValueError(f"it has no unit, but {name!r} follows the number")
    table, base = _table(unit)
    names = [entry for entry, _ in table]
    if name not in names or not _known(name, major):
        raise ValueError(f"{name!r} is not a unit{_units_hint(unit, major)}")
    position = names.index(name)
    amount = value * (table[position][1] / base)
    if major >= FRACTIONS_SINCE and position + 1 < len(table):
        step = table[position + 1][1] / base
        amount = _round_half_even(amount / step) * step
    elif major < FRACTIONS_SINCE:
        amount = math.floor(amount)
    return amount


def _round_half_even(value: float) -> float:
    return float(round(value)) if math.isfinite(value) else value


def _table(unit: str) -> tuple[tuple[tuple[str, float], ...], float]:
    """The units of the same kind, and the size of one ``unit`` (which may be ``8kB`` or ``16MB``)."""
    match = _BASE_UNIT.fullmatch(unit)
    if match is None:
        raise ValueError(f"unknown base unit {unit!r}")
    table = _MEMORY if match[2].endswith("B") else _TIME
    return table, int(match[1] or 1) * dict(table)[match[2]]


def _known(unit: str, major: int) -> bool:
    return not (unit == "us" and major < MICROSECONDS_SINCE) and not (unit == "B" and major < BYTES_SINCE)


def _units_hint(unit: str | None, major: int) -> str:
    return "" if unit is None else ", units are " + ", ".join(units_of(unit, major))
