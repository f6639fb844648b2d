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
    return sum((database.commits or 0) + (database.rollbacks or 0) for database in counters.databases)


def assigned_transaction_ids(case: Case) -> int | None:
    """IDs that transactions and subtransactions took during the observation; None without one.

    The age of each database's oldest row grows by them, unless a VACUUM froze that row meanwhile.
    """
    before = case.snapshot.counters_before
    if before is None or not case.observed_s:
        return None
    ages = {database.oid: database.xid_age for database in before.databases}
    grown = [
        database.xid_age - ages[database.oid] for database in case.snapshot.counters.databases if database.oid in ages
    ]
    return max(0, *grown) if grown else None
