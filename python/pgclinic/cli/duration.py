"""Durations as people write them: 90, 90s, 5m, 1h."""

from __future__ import annotations

import re

from pgclinic.errors import UsageError

LONGEST_S = 1e7
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_NONE = frozenset({"0", "0s", "none"})


def parse_duration_s(text: str, option: str) -> float:
    """Return the seconds of a duration, 300.0 for ``5m``. Raises UsageError naming ``option`` on all else, and zero."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS_S or float(match[1]) == 0:
        raise UsageError(f"{option} {text!r} is not a valid duration", hint="write 90s, 5m or 1h")
    seconds = float(match[1]) * _UNITS_S[match[2]]
    if seconds > LONGEST_S:
        raise UsageError(f"{option} {text!r} is too long", hint=f"at most {LONGEST_S // 86_400:.0f} days")
    return seconds


def parse_duration_or_none_s(text: str, option: str) -> float:
    """Return the seconds of a duration that may be ``0``. Raises UsageError."""
    return 0.0 if text.strip().lower() in _NONE else parse_duration_s(text, option)


def parse_age_s(text: str, option: str) -> float:
    """Return the seconds of an age, which may be days: 30d, 12h, 90m. Raises UsageError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*d(?:ays?)?\s*", text.lower())
    return float(match[1]) * 86_400 if match is not None else parse_duration_s(text, option)


def parse_budget_s(text: str, spent_s: float) -> float:
    """Return the seconds of ``10m``, a time in all, or of ``+3m`` on top of what is spent. Raises UsageError."""
    more = text.strip()
    if more.startswith("+"):
        return spent_s + parse_duration_s(more[1:], "--budget")
    return parse_duration_s(more, "--budget")


def in_words(seconds: float) -> str:
    """Return a duration in words: 45 s, 5 min, 1 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
