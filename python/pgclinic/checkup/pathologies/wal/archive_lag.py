"""How far the archive is behind the WAL."""

from __future__ import annotations

import re

from pgclinic.checkup.case import Case

#: Timeline, and the number of the segment in two parts; a backup's label or a partial file begins so as well.
_SEGMENT = re.compile(r"[0-9A-F]{8}([0-9A-F]{8})([0-9A-F]{8})")


def archives(case: Case) -> bool:
    """Whether this server archives WAL of its own now: a standby does so with archive_mode = always alone."""
    mode = case.word("archive_mode")
    return mode == "always" or (mode == "on" and not case.snapshot.server.in_recovery)


def archive_lag_bytes(case: Case) -> int | None:
    """WAL in full segments that wait for the archive; None where nothing was archived so far."""
    name = next((archiver.last_archived_wal for archiver in case.snapshot.counters.archiver), None)
    found = _SEGMENT.match(name or "")
    server = case.snapshot.server
    if found is None or server.wal_position is None:
        return None
    segment = server.wal_segment_bytes
    archived = int(found[1], 16) * ((1 << 32) // segment) + int(found[2], 16)
    return max((server.wal_position // segment - 1 - archived) * segment, 0)
