"""Durations as people write them: 90, 90s, 5m, 1h."""

from __future__ import annotations

import re

from pgclinic.errors import UsageError

LONGEST_S = 1e7
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration_s(text: str, option: str) -> float:
    """``5m`` -> 300.0. Raises UsageError naming ``option`` on anything else, and on zero."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS_S or float(match[1]) == 0:
        raise UsageError(f"{option} {text!r} is not a valid duration", hint="write 90s, 5m or 1h")
    seconds = float(match[1]) * _UNITS_S[match[2]]
    if seconds > LONGEST_S:
        raise UsageError(f"{option} {text!r} is too long", hint=f"at most {LONGEST_S // 86_400:.0f} days")
    return seconds


def parse_budget_s(text: str, spent_s: float) -> float:
    """``10m`` in all, or ``+3m`` on top of what is spent. Raises UsageError."""
    more = text.strip()
    if more.startswith("+"):
        return spent_s + parse_duration_s(more[1:], "--budget")
    return parse_duration_s(more, "--budget")


def in_words(seconds: float) -> str:
    """A duration in words: 45 s, 5 min, 1 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
