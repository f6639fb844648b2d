"""A prepared statement got a plan for the average value, and is asked for rare ones."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.index_upkeep import create_index
from pgclinic.checkup.pathologies.planner.skewed_values import Uneven, uneven_statements
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Role, Treatment

_CUSTOM = "force_custom_plan"


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("plan_cache_mode") == _CUSTOM:
        return
    for statement in uneven_statements(case):
        yield Seen(
            subject=statement.work.subject,
            severity=severity_of(case, (statement.work,)),
            confidence=Confidence.POSSIBLE,
            evidence=(
                statement.evidence(case),
                table_evidence(statement.table),
                setting_evidence(case, "plan_cache_mode"),
            ),
            tables=(statement.table.name,),
            cost=time_cost(case, (statement.work,)),
            claim=time_claim((statement.work,), at_most=True),
            treatments=tuple(_treatments(case, statement)),
        )


def _treatments(case: Case, uneven: Uneven) -> Iterator[Treatment]:
    yield change_settings(
        case,
        {"plan_cache_mode": _CUSTOM},
        title="plan each execution for its own values",
        risk="every execution of a prepared statement is planned; better SET it for the role or the function alone",
    )
    shape = uneven.work.shape
    ordered = tuple(shape.top.ordered_by) if shape is not None else ()
    if ordered:
        yield create_index(
            uneven.table,
            (uneven.column, *ordered),
            title="create an index that is right for every value",
            prevents=True,
        )


PATHOLOGY = Pathology(
    name="generic-plan-wrong",
    title="a prepared statement has a plan that is wrong for its values",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="After five executions the server keeps one plan for all values if its estimate is no higher than their "
    "average. On a column where one value is frequent and others are rare, ORDER BY with LIMIT then walks the wrong "
    "index.",
    threshold="Half of the rows have one value, the average is 20 times the shortest time, and ten buffers are visited "
    "for each row: with a plan of its own each value would need a few.",
    references=(
        "https://www.postgresql.org/docs/current/sql-prepare.html#SQL-PREPARE-NOTES",
        "https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-PLAN-CACHE-MODE",
    ),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates"),
    needs=("settings", "counters.statements", "statement_texts"),
    no_proof="the workload of a twin sends values as literals, so it has no generic plans",
)
