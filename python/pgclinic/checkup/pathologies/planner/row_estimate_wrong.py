"""The planner expects ten times more rows of a table, or ten times fewer, than come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.planner.estimates import OFF_MIN, WrongEstimate, wrong_estimates
from pgclinic.checkup.pathologies.planner.new_rows import is_enough
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.sql.quoting import identifier, qualified

_LOCK = "ShareUpdateExclusiveLock on the table: reads and writes go on"
#: The server takes eight columns at most; more than three are seldom asked for together.
_COLUMNS_MAX = 3
_NAME_MAX = 63
#: Of its rows; autovacuum analyzes a table from here on.
_CHANGED = 0.1
_TARGET = 1000


def _detect(case: Case) -> Iterator[Seen]:
    found: dict[tuple[int, tuple[str, ...]], list[WrongEstimate]] = {}
    for estimate in wrong_estimates(case):
        found.setdefault((estimate.table.state.oid, estimate.columns[:_COLUMNS_MAX]), []).append(estimate)
    for (_, columns), estimates in found.items():
        table = estimates[0].table
        works = tuple(estimate.work for estimate in estimates)
        yield Seen(
            subject=f"{table.name} ({', '.join(columns)})",
            severity=severity_of(case, works),
            # That the plan would be another with the right number, and a better one, is not known from this.
            confidence=Confidence.POSSIBLE,
            evidence=(
                table_evidence(table),
                *(
                    statement_evidence(
                        case,
                        estimate.work,
                        Fact(name="plan", value=f"{estimate.node.kind} on {table.name}"),
                        Fact(name="rows expected", value=estimate.node.rows_planned, unit=Unit.ROWS),
                        Fact(name="rows that came", value=estimate.rows, unit=Unit.ROWS),
                    )
                    for estimate in estimates
                ),
            ),
            tables=(table.name,),
            cost=time_cost(case, works),
            claim=time_claim(works, at_most=True),
            treatments=tuple(_treatments(case, table, columns, max(one.missed for one in estimates))),
        )


def _treatments(case: Case, table: Table, columns: Sequence[str], missed: float) -> Iterator[Treatment]:
    """Statistics of the columns together where there are several; else more of the one."""
    analyze = f"analyze {qualified(table.state.schema, table.state.name)}"
    changed = table.counters.changed_since_analyze if table.counters is not None else 0
    if changed >= _CHANGED * table.live or is_enough(case, table, missed):
        yield Treatment(
            title="analyze it",
            applies=Applies.STATEMENT,
            sql=(analyze,),
            lock=_LOCK,
            risk="reads a sample of the table; plans may change",
        )
    if len(columns) > 1:
        if not _are_known_together(case, table, columns):
            yield _together(table, columns, analyze)
        return
    column = f"alter table {qualified(table.state.schema, table.state.name)} alter column {identifier(columns[0])}"
    yield Treatment(
        title=f"keep more values of {columns[0]}",
        applies=Applies.STATEMENT,
        sql=(f"{column} set statistics {_TARGET}", analyze),
        undo=(f"{column} set statistics -1",),
        lock=_LOCK,
        risk=f"each ANALYZE reads {300 * _TARGET:,} rows of the table; plans may change",
    )


def _together(table: Table, columns: Sequence[str], analyze: str) -> Treatment:
    name = qualified(table.state.schema, f"{table.state.name}_{'_'.join(columns)}_stats"[:_NAME_MAX])
    of = ", ".join(identifier(column) for column in columns)
    source = qualified(table.state.schema, table.state.name)
    return Treatment(
        title=f"keep statistics of {', '.join(columns)} together",
        applies=Applies.STATEMENT,
        sql=(f"create statistics {name} (dependencies, ndistinct, mcv) on {of} from {source}", analyze),
        undo=(f"drop statistics {name}",),
        lock=_LOCK,
        risk="each ANALYZE takes a little longer; plans may change",
    )


def _are_known_together(case: Case, table: Table, columns: Sequence[str]) -> bool:
    return any(
        known.table_oid == table.state.oid and set(columns) <= set(known.columns)
        for known in case.snapshot.extended_statistics
    )


PATHOLOGY = Pathology(
    name="row-estimate-wrong",
    title="the planner is wrong about the rows of a table by more than ten times",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="The planner chooses joins and indexes by the rows that it expects. It multiplies the shares of "
    "conditions as if columns had nothing to do with each other, and knows of each column alone its commonest values "
    "and a histogram.",
    threshold=f"Below {OFF_MIN:g} times a plan seldom changes, and of fewer than a hundred rows every plan is cheap. "
    "Rows are counted only where auto_explain.log_analyze is on.",
    references=(
        "https://www.postgresql.org/docs/current/planner-stats.html#PLANNER-STATS-EXTENDED",
        "https://www.postgresql.org/docs/current/row-estimation-examples.html",
    ),
    detect=_detect,
    explains=("table-scanned-in-a-loop", "reads-many-buffers-per-row", "statement-dominates"),
    needs=("counters.statements", "statement_texts", "tables", "log"),
    no_proof="rows of a twin follow the statistics as they are, so it knows no more of the columns together",
)
