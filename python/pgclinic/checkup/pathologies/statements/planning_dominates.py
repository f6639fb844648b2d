"""Planning a statement takes longer than executing it."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.workload import COSTLY_SESSIONS, Work, statement_evidence, workload
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

#: A statement of one table is planned in a tenth of this. What takes longer has many tables, partitions or indexes.
PLAN_MS_MIN = 0.5
CALLS_MIN = 20
#: Planned for nearly every call: nobody prepares it.
_PLANS_PER_CALL = 0.5
SHARE_MIN = 0.05


def _detect(case: Case) -> Iterator[Seen]:
    works = workload(case)
    whole_ms = sum(work.total_ms + work.plan_ms for work in works)
    for work in works:
        if work.calls < CALLS_MIN or work.plans < _PLANS_PER_CALL * work.calls or work.plan_ms <= work.total_ms:
            continue
        if work.plan_ms / work.plans < PLAN_MS_MIN:
            continue
        share = work.plan_ms / whole_ms
        yield Seen(
            subject=work.subject,
            severity=Severity.WARNING if share >= SHARE_MIN and _busy(case, work) else Severity.NOTICE,
            evidence=(
                statement_evidence(
                    case,
                    work,
                    Fact(name="plans", value=work.plans, unit=Unit.COUNT),
                    Fact(name="mean time of planning", value=work.plan_ms / work.plans, unit=Unit.MILLISECONDS),
                    Fact(name="tables", value=_tables(work), unit=Unit.COUNT),
                ),
            ),
            cost=Cost(
                kind=CostKind.TIME_SHARE,
                value=share,
                basis=(
                    Fact(name="planning", value=work.plan_ms, unit=Unit.MILLISECONDS),
                    Fact(name="planning and executing all", value=whole_ms, unit=Unit.MILLISECONDS),
                ),
            ),
            treatments=(
                Treatment(
                    title="prepare the statement, and let a pooler keep it prepared",
                    applies=Applies.APPLICATION,
                    risk="after five executions one plan may serve all values",
                ),
                Treatment(
                    title="have fewer partitions, or name the partition key in the statement",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


def _busy(case: Case, work: Work) -> bool:
    elapsed_s = case.observed_s or case.statements_s
    return work.plan_ms / 1_000 / elapsed_s >= COSTLY_SESSIONS


def _tables(work: Work) -> int:
    return len(work.shape.mentions) if work.shape is not None else 0


PATHOLOGY = Pathology(
    name="planning-dominates",
    title="planning takes longer than executing",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="A statement that is not prepared is planned each time it is called. With many joins, partitions or "
    "indexes that takes milliseconds for a result that takes microseconds.",
    threshold="Planning is counted with pg_stat_statements.track_planning alone. Half a millisecond is five times what "
    "a statement of one table takes, and below it a round trip costs as much.",
    references=(
        "https://www.postgresql.org/docs/current/sql-prepare.html",
        "https://www.postgresql.org/docs/current/pgstatstatements.html",
    ),
    detect=_detect,
    needs=("counters.statements", "statement_texts"),
    no_proof="the application has to prepare the statement; a twin would run what it sends now",
)
