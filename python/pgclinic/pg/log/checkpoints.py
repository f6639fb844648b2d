"""Checkpoints and restartpoints: why they began, what they wrote, and whether they come too often."""

from __future__ import annotations

import re

from pgclinic.model.log import CheckpointCompleted, CheckpointStarted, CheckpointsTooFrequent, LogEntry
from pgclinic.pg.log.amounts import from_seconds

_STARTED = re.compile(r"(checkpoint|restartpoint) starting:([a-z -]*)")
_SECONDS = r"(\d{1,12}\.\d{1,6}) s"
_COMPLETE = re.compile(
    r"(?P<kind>checkpoint|restartpoint) complete: wrote (?P<buffers>\d+) buffers \((?P<share>\d+\.\d+)%\)"
    r"(?:, wrote (?P<slru>\d+) SLRU buffers)?"
    r"; (?P<added>\d+) WAL file\(s\) added, (?P<removed>\d+) removed, (?P<recycled>\d+) recycled"
    rf"; write={_SECONDS}, sync={_SECONDS}, total={_SECONDS}"
    rf"; sync files=(?P<files>\d+), longest={_SECONDS}, average={_SECONDS}"
    r"; distance=(?P<distance>\d+) kB, estimate=(?P<estimate>\d+) kB"
    r"(?:; lsn=(?P<lsn>[0-9A-F/]+), redo lsn=(?P<redo>[0-9A-F/]+))?",
    re.ASCII,
)
_TOO_FREQUENT = re.compile(r"checkpoints are occurring too frequently \((\d{1,9}) seconds? apart\)", re.ASCII)
_KIB = 1024


def checkpoint_started(entry: LogEntry) -> CheckpointStarted | None:
    match = _STARTED.match(entry.message)
    if match is None:
        return None
    return CheckpointStarted(
        origin=entry.origin, restartpoint=match[1] == "restartpoint", reasons=tuple(match[2].split())
    )


def checkpoint_completed(entry: LogEntry) -> CheckpointCompleted | None:
    """Its reasons and interval stand in other entries; the collector adds them."""
    match = _COMPLETE.match(entry.message)
    if match is None:
        return None
    write, sync, total, longest, average = (from_seconds(match[place]) for place in (8, 9, 10, 12, 13))
    return CheckpointCompleted(
        origin=entry.origin,
        restartpoint=match["kind"] == "restartpoint",
        reasons=(),
        interval_us=None,
        buffers_written=int(match["buffers"]),
        buffers_share=float(match["share"]) / 100,
        slru_buffers_written=int(match["slru"]) if match["slru"] else None,
        wal_files_added=int(match["added"]),
        wal_files_removed=int(match["removed"]),
        wal_files_recycled=int(match["recycled"]),
        write_us=write,
        sync_us=sync,
        total_us=total,
        files_synced=int(match["files"]),
        sync_longest_us=longest,
        sync_average_us=average,
        distance_bytes=int(match["distance"]) * _KIB,
        estimate_bytes=int(match["estimate"]) * _KIB,
        lsn=match["lsn"],
        redo_lsn=match["redo"],
    )


def checkpoints_too_frequent(entry: LogEntry) -> CheckpointsTooFrequent | None:
    match = _TOO_FREQUENT.match(entry.message)
    return CheckpointsTooFrequent(origin=entry.origin, apart_s=int(match[1])) if match else None
