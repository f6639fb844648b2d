"""A table in use of which the planner has no statistics at all."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.planner.table_rescans import rescans, saved_of
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.treatments import analyze
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: In a smaller table every estimate is near enough.
ROWS_MIN = 1_000


def _detect(case: Case) -> Iterator[Seen]:
    loops = tuple(rescans(case))
    for table in case.tables:
        counters = table.counters
        if counters is None or table.live < ROWS_MIN or not (counters.sequential_scans or counters.index_scans):
            continue
        if not _has_none(case, table):
            continue
        hurt = tuple(
            loop
            for loop in loops
            if loop.work.shape is not None and any(m.name == table.state.name for m in loop.work.shape.mentions)
        )
        works = tuple(rescan.work for rescan in hurt)
        yield Seen(
            subject=table.name,
            severity=severity_of(case, works) if works else Severity.NOTICE,
            confidence=Confidence.LIKELY,
            evidence=(
                table_evidence(
                    table,
                    Fact(name="rows changed since ANALYZE", value=counters.changed_since_analyze, unit=Unit.ROWS),
                    Fact(name="analyzed", value="never"),
                ),
                *(statement_evidence(case, work) for work in works),
            ),
            tables=(table.name, *(rescan.table.name for rescan in hurt)),
            cost=time_cost(case, works, saved_of(hurt)) if works else None,
            claim=time_claim(works, saved_of(hurt)) if works else None,
            treatments=(analyze(table.state),),
        )


def _has_none(case: Case, table: Table) -> bool:
    """Neither a run that is remembered nor a column that has statistics; only of tables whose columns are shown."""
    counters = table.counters
    if counters is None or counters.last_analyze_epoch_s or counters.last_autoanalyze_epoch_s:
        return False
    if (table.state.schema, table.state.name) in case.columns_by_table:
        return False
    server = case.snapshot.server
    return table.state.rows is None or server.is_superuser or table.state.owner == server.user


PATHOLOGY = Pathology(
    name="never-analyzed",
    title="a table in use was never analyzed",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="Without statistics the planner assumes the same for every table: 200 different values in each column, "
    "and one row in 200 for a comparison. After a restore, a major upgrade before 18 or a large load that is far off.",
    threshold="Below 1,000 rows an assumption cannot be wrong by much, and a table that nobody reads needs no plan.",
    references=(
        "https://www.postgresql.org/docs/current/planner-stats.html",
        "https://www.postgresql.org/docs/current/populate.html#POPULATE-ANALYZE",
    ),
    detect=_detect,
    explains=("table-scanned-in-a-loop", "statement-dominates", "reads-many-buffers-per-row", "work-mem-small"),
    needs=("tables", "counters.tables"),
    no_proof="a twin is analyzed when it is built",
)
