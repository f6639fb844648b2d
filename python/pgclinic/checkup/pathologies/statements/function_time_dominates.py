"""One function takes most of the time of all statements."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot_counters import FunctionCounters

SHARE_MIN = 0.5
#: Seconds of it in each second: one session in ten is in this function.
BUSY_MIN = 0.1
CALLS_MIN = 20


def _detect(case: Case) -> Iterator[Seen]:
    whole_ms = case.all_statements_ms
    before = case.snapshot.counters_before
    earlier = {function.name: function for function in before.functions} if before is not None else {}
    elapsed_s = case.observed_s or case.database_s
    for function in case.snapshot.counters.functions:
        calls, self_ms = _grown(function, earlier.get(function.name))
        if calls < CALLS_MIN or self_ms < SHARE_MIN * whole_ms or self_ms / 1_000 / elapsed_s < BUSY_MIN:
            continue
        tables = _triggered_by(case, function.name)
        yield Seen(
            subject=function.name,
            severity=Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.FUNCTION,
                    name=function.name,
                    facts=(
                        Fact(name="calls", value=calls, unit=Unit.COUNT),
                        Fact(name="mean time without what it calls", value=self_ms / calls, unit=Unit.MILLISECONDS),
                        *(Fact(name="called for each row of", value=table) for table in tables),
                    ),
                ),
            ),
            tables=tables,
            cost=Cost(
                kind=CostKind.TIME_SHARE,
                value=min(self_ms / whole_ms, 1.0) if whole_ms else 1.0,
                basis=(
                    Fact(name="time in the function", value=self_ms, unit=Unit.MILLISECONDS),
                    Fact(name="time of all statements", value=whole_ms, unit=Unit.MILLISECONDS),
                ),
            ),
            treatments=(
                Treatment(
                    title="look at what it does: pg_stat_statements.track = all counts the statements inside",
                    applies=Applies.APPLICATION,
                    risk="counting statements inside functions costs some microseconds each",
                ),
            ),
        )


def _grown(now: FunctionCounters, before: FunctionCounters | None) -> tuple[int, float]:
    if before is None or before.calls > now.calls:
        return now.calls, now.self_ms
    return now.calls - before.calls, now.self_ms - before.self_ms


def _triggered_by(case: Case, function: str) -> tuple[str, ...]:
    names = {
        case.all_tables[trigger.table_oid].name
        for trigger in case.snapshot.triggers
        if trigger.function == function and trigger.for_each_row and trigger.table_oid in case.all_tables
    }
    return tuple(sorted(names))


PATHOLOGY = Pathology(
    name="function-time-dominates",
    title="one function takes most of the time",
    area=Area.STATEMENTS,
    role=Role.SYMPTOM,
    mechanism="The time of a function is part of that of the statement that calls it, and its own statements are not "
    "counted apart. A trigger for each row, or a function in WHERE, is called once for every row.",
    threshold="Half of the time of all statements, and one session in ten within it. It is a notice: an application "
    "that calls functions alone spends all of its time there.",
    references=("https://www.postgresql.org/docs/current/runtime-config-statistics.html#GUC-TRACK-FUNCTIONS",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("counters.functions", "counters.statements"),
    no_proof="it says where to look; a cure is a change of the function",
)
