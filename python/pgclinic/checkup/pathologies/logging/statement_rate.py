"""How many statements a second a server runs: what a price for each statement is multiplied by."""

from __future__ import annotations

from pgclinic.checkup.case import Case

#: From here on a price of some microseconds for each statement is 1 % of a processor and more.
BUSY_PER_S = 1_000.0


def statements_per_s(case: Case) -> float:
    """Of this database: calls of statements, or without pg_stat_statements transactions.

    Over the observation; without one since statistics were reset.
    """
    return max(_calls_per_s(case), _transactions_per_s(case))


def _calls_per_s(case: Case) -> float:
    now, before = case.snapshot.counters.statements, case.snapshot.counters_before
    calls = float(sum(counters.calls for counters in now))
    if before is not None and case.observed_s:
        return max(calls - sum(statement.calls for statement in before.statements), 0.0) / case.observed_s
    return calls / case.statements_s


def _transactions_per_s(case: Case) -> float:
    now, before = case.database, case.database_before
    if now is None:
        return 0.0
    count = (now.commits or 0) + (now.rollbacks or 0)
    if before is not None and case.observed_s:
        return max(count - (before.commits or 0) - (before.rollbacks or 0), 0) / case.observed_s
    return count / case.database_s
