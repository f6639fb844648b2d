"""Wait events that are one wait under several names: who commits waits for the WAL's sync, or for whoever syncs it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_GROUPS = {
    "WAL": re.compile(r"(?:IO:|LWLock:)WAL", re.IGNORECASE),
    "data files": re.compile(r"IO:DataFile"),
    "temporary files": re.compile(r"IO:BufFile", re.IGNORECASE),
    "locks": re.compile(r"Lock:"),
}


def group_of(event: str) -> str:
    """WAL, data files, temporary files, locks; any other event is a group by itself."""
    return next((name for name, pattern in _GROUPS.items() if pattern.match(event)), event)


def grouped(waits: Mapping[str, float]) -> dict[str, float]:
    """The same sessions by groups."""
    sums: dict[str, float] = {}
    for event, sessions in waits.items():
        group = group_of(event)
        sums[group] = sums.get(group, 0.0) + sessions
    return sums
