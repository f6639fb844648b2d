"""The planner may not reorder the joins of a statement."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

LIMITS = ("join_collapse_limit", "from_collapse_limit")
#: Planning time of exhaustive search doubles, and more, with each table; at twelve the genetic search takes over.
_TABLES_SEARCHED_MAX = 12
CALLS_MIN = 10


def _detect(case: Case) -> Iterator[Seen]:
    low = [name for name in LIMITS if _below_default(case, name)]
    limit = min((case.number(name) or 8.0 for name in LIMITS), default=8.0)
    joined = [(work, tables) for work in workload(case) if (tables := _tables_joined(work)) > limit]
    works = tuple(work for work, _ in joined if work.calls >= CALLS_MIN)
    if not low and not works:
        return
    most = max((tables for work, tables in joined if work in works), default=0)
    wanted = max(8, min(most, _TABLES_SEARCHED_MAX))
    names = tuple(low) or LIMITS
    if not low and wanted <= limit:
        return
    yield Seen(
        subject=", ".join(names),
        severity=severity_of(case, works) if low and works else Severity.NOTICE,
        # Whether another order is faster is not known before the planner is asked for it.
        confidence=Confidence.POSSIBLE,
        evidence=(
            *(setting_evidence(case, name) for name in names),
            *(
                statement_evidence(case, work, Fact(name="tables joined", value=tables, unit=Unit.COUNT))
                for work, tables in joined
                if work in works
            ),
        ),
        cost=time_cost(case, works) if works else None,
        claim=time_claim(works, at_most=True) if works else None,
        treatments=(
            change_settings(
                case,
                {name: str(wanted) for name in names},
                title="let the planner choose the order of joins",
                risk="planning of statements with many tables takes longer",
            ),
        ),
    )


def _below_default(case: Case, name: str) -> bool:
    value, default = case.number(name), case.default(name)
    return value is not None and default is not None and value < default


def _tables_joined(work: Work) -> int:
    shape = work.shape
    return max((level.sources for level in shape.levels), default=0) if shape is not None else 0


PATHOLOGY = Pathology(
    name="join-order-fixed",
    title="the planner may not choose the order of joins",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="Joins beyond join_collapse_limit, and subqueries beyond from_collapse_limit, are done in the order in "
    "which they are written. If a table that leaves few rows stands last, all rows before it are joined for nothing.",
    threshold="Statements with no more tables than the limit have the best order already. It is a warning with a limit "
    "below the default of 8, when statements with more tables take time.",
    references=("https://www.postgresql.org/docs/current/explicit-joins.html",),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "table-scanned-in-a-loop", "statement-dominates", "work-mem-small"),
    needs=("settings",),
    proof=ProofOn.TWIN,
)
