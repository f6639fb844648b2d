"""How much WAL a server needs at most, how fast it writes it, and how much room it has for more."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.model.host import HostFilesystem


def wal_needed_bytes(case: Case) -> float:
    """What checkpoints keep by themselves: max_wal_size, or wal_keep_size where that is more."""
    return max(case.number("max_wal_size") or 0.0, case.number("wal_keep_size") or 0.0)


def wal_bytes_per_s(case: Case) -> float | None:
    """Over the observation, or since statistics were reset; None before 14 without an observation of it."""
    now, before = case.snapshot.counters.wal, case.snapshot.counters_before
    if not now:
        return None
    if before is not None and before.wal and case.observed_s:
        return max(now[0].bytes - before.wal[0].bytes, 0) / case.observed_s
    return now[0].bytes / case.since_s(now[0].reset_epoch_s)


def wal_filesystem(case: Case) -> HostFilesystem | None:
    """Where pg_wal is, which is with the data unless it has been moved; known on the machine of the server."""
    if case.host is None:
        return None
    by_use = {use: filesystem for filesystem in case.host.filesystems for use in filesystem.holds.split(", ")}
    return by_use.get("WAL", by_use.get("data"))
