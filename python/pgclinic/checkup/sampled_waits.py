"""Waits of clients as they were sampled: how many sessions wait at a time, and what that costs."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Cost, CostKind, Fact, TimeClaim, Unit

#: The wait for a WAL file to be flushed has one name until 16 and another since 17.
WAL_SYNC = ("IO:WALSync", "IO:WalSync")
#: Since PostgreSQL 17 only the first letters of words are capital.
TEMPORARY_FILES = ("IO:BufFileRead", "IO:BuffileRead", "IO:BufFileWrite", "IO:BuffileWrite")
SLRU_READ = ("IO:SLRURead", "IO:SlruRead")
WAL_WRITE = ("IO:WALWrite", "IO:WalWrite")
#: A commit waits for another one that writes or flushes.
WAL_WRITE_LOCK = ("LWLock:WALWrite",)


def waiting(case: Case, *events: str) -> float:
    """How many active sessions of clients wait for one of these at a time, on average. Events are TYPE:EVENT."""
    if not case.activity:
        return 0.0
    total = 0.0
    for row in case.active_rows:
        weight = row.get("backends", 1)
        if f"{row.get('wait_event_type')}:{row.get('wait_event')}" in events and isinstance(weight, int | float):
            total += weight
    return total / len(case.activity)


def waiting_share(case: Case, *events: str) -> float:
    """Of the time of active sessions, 0 to 1."""
    whole = case.active_sessions
    return waiting(case, *events) / whole if whole else 0.0


def wait_cost(case: Case, *events: str) -> Cost | None:
    """Seconds that sessions wait in each second; None where nobody was seen to wait."""
    found = waiting(case, *events)
    if not found:
        return None
    return Cost(
        kind=CostKind.WAIT_S_PER_S,
        value=found,
        basis=(
            Fact(name="samples", value=len(case.activity), unit=Unit.COUNT),
            Fact(name="active sessions on average", value=case.active_sessions or 0.0, unit=Unit.COUNT),
        ),
    )


def wait_claim(*events: str, fraction: float = 1.0) -> TimeClaim:
    return TimeClaim(waits=events, fraction=fraction)
