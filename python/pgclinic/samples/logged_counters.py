"""Counters of one trial from the events of its server's log. Pure."""

from __future__ import annotations

from pgclinic.model.log import MemoryDump, VacuumLogged
from pgclinic.model.study import Counter
from pgclinic.model.trial_events import TrialEvents


def logged_counters(events: TrialEvents) -> dict[Counter, float]:
    """The counters that the log has lines for; the others are left out."""
    logged = [one.event for one in events.kept]
    found = {
        Counter.DEAD_ROWS_KEPT_SHARE: _dead_rows_kept([event for event in logged if isinstance(event, VacuumLogged)]),
        Counter.LOGGED_MEMORY_READ_SHARE: _memory_read([event for event in logged if isinstance(event, MemoryDump)]),
    }
    return {counter: value for counter, value in found.items() if value is not None}


def _dead_rows_kept(vacuums: list[VacuumLogged]) -> float | None:
    """Of the dead rows that autovacuum met, those that it could not remove yet."""
    own = [vacuum for vacuum in vacuums if vacuum.automatic]
    removed = sum(one.tuples_removed or 0 for one in own)
    kept = sum(one.tuples_dead_not_removable or 0 for one in own)
    return kept / (removed + kept) if removed + kept else None


def _memory_read(dumps: list[MemoryDump]) -> float | None:
    """Of the bytes in the grand totals, those in the contexts that were read back; a dump without its end has none."""
    totals = sum(dump.used_bytes for dump in dumps)
    if not totals:
        return None
    return sum(line.used_bytes for dump in dumps if dump.complete for line in dump.contexts) / totals
