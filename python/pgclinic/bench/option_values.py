"""Values of options, read as pgbench reads them: C's strtol, atoi and atof, not Python's."""

from __future__ import annotations

import math
import random
import re
import time

from pgclinic.errors import UsageError

INT_MAX = 2**31 - 1
_SPACE = r"[ \t\n\v\f\r]*"
_INTEGER = re.compile(rf"{_SPACE}([+-]?[0-9]+){_SPACE}")
_FLOAT = re.compile(rf"{_SPACE}([+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))")
_HEX = re.compile(rf"{_SPACE}([+-]?0[xX][0-9a-fA-F]+)")


def parse_integer(text: str, option: str, low: int, high: int = INT_MAX) -> int:
    """A whole number from ``low`` to ``high``; white space around it is allowed. Raises UsageError."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise UsageError(f'invalid value "{text}" for option {option}')
    value = int(match[1])
    if not low <= value <= high:
        raise UsageError(f"{option} must be in range {low}..{high}")
    return value


def leading_integer(text: str) -> int:
    """As C's atoi: what follows the digits is ignored, and no digits are 0."""
    match = re.match(rf"{_SPACE}([+-]?[0-9]+)", text)
    return int(match[1]) if match else 0


def leading_float(text: str) -> float:
    """As C's atof: what follows the number is ignored, and no number is 0. Infinite and NaN count as none."""
    if match := _HEX.match(text):
        return float.fromhex(match[1])
    match = _FLOAT.match(text)
    value = float(match[1]) if match else 0.0
    return value if math.isfinite(value) else 0.0


def parse_seed(text: str, origin: str) -> int:
    """``time``, ``rand`` or an unsigned number of 64 bits. Raises UsageError that names ``origin``."""
    if text == "time":
        return time.time_ns() // 1000
    if text == "rand":
        return random.SystemRandom().getrandbits(64)
    if re.fullmatch(rf"{_SPACE}[+-]?[0-9]+", text) is None:
        raise UsageError(
            f'unrecognized random seed option "{text}" in {origin}', hint='write an unsigned integer, "time" or "rand"'
        )
    # As C's strtoul: too large is the largest, negative wraps.
    value = int(text)
    return 2**64 - 1 if abs(value) >= 2**64 else value % 2**64


def parse_percentiles(text: str) -> tuple[float, ...]:
    """``50,99,99.9`` in rising order, without repetitions. Raises UsageError."""
    found: set[float] = set()
    for part in text.split(","):
        word = part.strip().lower().removeprefix("p")
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) is None or not 0 < float(word) <= 100:
            raise UsageError(f"--percentiles: {word!r} is not a percentile", hint="write --percentiles 50,99,99.9")
        found.add(float(word))
    return tuple(sorted(found))
