"""How many transactions the server ends, in all of its databases."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.model.snapshot_counters import Counters


def transactions_per_s(case: Case) -> float:
    """During the observation; 0 without one."""
    before = case.snapshot.counters_before
    if before is None or not case.observed_s:
        return 0.0
    return max(ended_transactions(case.snapshot.counters) - ended_transactions(before), 0) / case.observed_s


def ended_transactions(counters: Counters) -> int:
    """Commits and rollbacks since statistics were reset."""
    return sum((one.commits or 0) + (one.rollbacks or 0) for one in counters.databases)
