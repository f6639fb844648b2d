"""Times as the server logs them, made moments: the abbreviation of a time zone is resolved by the zone itself."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Abbreviations that mean one offset nearly everywhere, in hours: for logs whose log_timezone nobody told.
_KNOWN_HOURS = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "WET": 0,
    "WEST": 1,
    "CET": 1,
    "CEST": 2,
    "EET": 2,
    "EEST": 3,
    "MSK": 3,
    "JST": 9,
    "KST": 9,
    "EST": -5,
    "EDT": -4,
    "CDT": -5,
    "MDT": -6,
    "MST": -7,
    "PST": -8,
    "PDT": -7,
}
_NUMERIC = re.compile(r"([+-])(\d\d):?(\d\d)?(?::?(\d\d))?", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,6}))? (\S+)", re.ASCII)


def moment_us(text: str, zone: str | None) -> int | None:
    """``2026-11-21 10:39:15.363 CET`` in microseconds since 1970, None when it is no time or its zone is unknown."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    second = _second(match[1], match[3], zone)
    if second is None:
        return None
    return second * 1_000_000 + int((match[2] or "0").ljust(6, "0"))


# Lines of one second come together, so nearly every line finds its second here.
@lru_cache(maxsize=256)
def _second(text: str, abbreviation: str, zone: str | None) -> int | None:
    try:
        naive = datetime.fromisoformat(text)
        offset = _offset(naive, abbreviation, zone)
        return None if offset is None else int(naive.replace(tzinfo=UTC).timestamp()) - int(offset.total_seconds())
    except (ValueError, OverflowError):
        return None


def _offset(naive: datetime, abbreviation: str, zone: str | None) -> timedelta | None:
    if numeric := _NUMERIC.fullmatch(abbreviation):
        hours, minutes, seconds = (int(part or 0) for part in numeric.groups()[1:])
        size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return -size if numeric[1] == "-" else size
    place = _place(zone)
    if place is not None:
        # The hour that a clock is set back by happens twice; the abbreviation tells which one it was.
        for fold in (0, 1):
            there = naive.replace(tzinfo=place, fold=fold)
            if there.tzname() == abbreviation:
                return there.utcoffset()
    hours_known = _KNOWN_HOURS.get(abbreviation)
    return None if hours_known is None else timedelta(hours=hours_known)


@lru_cache(maxsize=16)
def _place(zone: str | None) -> tzinfo | None:
    if not zone:
        return None
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC if zone.upper() in ("UTC", "GMT") else None
