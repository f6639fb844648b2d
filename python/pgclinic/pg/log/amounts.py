"""Amounts as log messages write them."""

from __future__ import annotations

import re

_PID = re.compile(r"[0-9]{1,10}")


def from_seconds(text: str) -> int:
    """``0.216`` seconds in microseconds."""
    return round(float(text) * 1_000_000)


def from_milliseconds(text: str) -> int:
    """``50.138`` milliseconds in microseconds."""
    return round(float(text) * 1000)


def pids(text: str) -> tuple[int, ...]:
    """``123, 456`` as process ids."""
    return tuple(int(word) for word in text.replace(",", " ").split() if _PID.fullmatch(word))
