"""Statistics of a table are much older than its rows, though statements read it."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table, number_of
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.table_rescans import Rescan, rescans
from pgclinic.checkup.treatments import analyze
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Severity, Treatment, Unit
from pgclinic.pg.identifiers import qualified

#: In a smaller table a wrong estimate is wrong by few rows.
ROWS_MIN = 1_000
#: Autovacuum analyzes at once this threshold; between two of its rounds a busy table may pass it, not twice.
OVERDUE_RATIO = 2.0
#: Updates leave values as they are spread, most of the time. Rows that come and go bring new ones.
_NEW_SHARE_MIN = 0.2
_DEFAULT_BASE, _DEFAULT_SCALE = 50.0, 0.1


def _detect(case: Case) -> Iterator[Seen]:
    loops = tuple(rescans(case))
    for table in case.tables:
        counters = table.counters
        if counters is None or table.live < ROWS_MIN or not _is_read(table) or not _was_analyzed(table):
            continue
        changed, due = counters.changed_since_analyze, _due(case, table)
        if changed < max(ROWS_MIN, OVERDUE_RATIO * due) or _new_rows(case, table) < _NEW_SHARE_MIN * changed:
            continue
        hurt = tuple(one for one in loops if _joins(one, table))
        works = tuple(one.work for one in hurt)
        analyzed = max(counters.last_analyze_epoch_s or 0.0, counters.last_autoanalyze_epoch_s or 0.0)
        now = case.snapshot.server.clock_epoch_s
        yield Seen(
            subject=table.name,
            severity=severity_of(case, works) if works else Severity.NOTICE,
            confidence=Confidence.LIKELY if works else Confidence.POSSIBLE,
            evidence=(
                table_evidence(
                    table,
                    Fact(name="rows changed since ANALYZE", value=changed, unit=Unit.ROWS),
                    Fact(name="autovacuum analyzes after", value=due, unit=Unit.ROWS),
                    *((Fact(name="analyzed", value=now - analyzed, unit=Unit.SECONDS),) if analyzed else ()),
                ),
                *(statement_evidence(case, one) for one in works),
            ),
            tables=(table.name, *(one.table.name for one in hurt)),
            cost=time_cost(case, works) if works else None,
            claim=time_claim(works) if works else None,
            treatments=(
                analyze(table.state),
                Treatment(
                    title="analyze it earlier from now on",
                    applies=Applies.STATEMENT,
                    sql=(f"alter table {_name(table)} set (autovacuum_analyze_scale_factor = 0.02)",),
                    lock="ShareUpdateExclusiveLock for a moment",
                    risk="ANALYZE runs more often on this table",
                    undo=(f"alter table {_name(table)} reset (autovacuum_analyze_scale_factor)",),
                    prevents=True,
                ),
            ),
        )


def _name(table: Table) -> str:
    return qualified(table.state.schema, table.state.name)


def _is_read(table: Table) -> bool:
    counters = table.counters
    return counters is not None and bool(counters.sequential_scans or counters.index_scans)


def _was_analyzed(table: Table) -> bool:
    counters = table.counters
    return counters is not None and bool(counters.last_analyze_epoch_s or counters.last_autoanalyze_epoch_s)


def _due(case: Case, table: Table) -> float:
    """After how many changes autovacuum analyzes this table."""

    def asked(name: str, default: float) -> float:
        own = table.option(name)
        value = number_of(own, None) if own is not None else case.number(name)
        return default if value is None else value

    base = asked("autovacuum_analyze_threshold", _DEFAULT_BASE)
    return base + asked("autovacuum_analyze_scale_factor", _DEFAULT_SCALE) * (table.state.rows or 0.0)


def _new_rows(case: Case, table: Table) -> float:
    """How many rows came or went since ANALYZE, at least: updates since the reset may all be later than that."""
    counters = table.counters
    if counters is None:
        return 0.0
    now = (table.state.bytes or 0) // case.snapshot.server.block_bytes
    if not counters.deleted and table.state.bytes is not None and now <= table.state.pages:
        # A session that fills a table and analyzes it reports its rows after that, and they are counted as new.
        return 0.0
    grown = abs(counters.live - table.state.rows) if table.state.rows is not None else 0.0
    return max(float(counters.changed_since_analyze - counters.updated), grown)


def _joins(one: Rescan, table: Table) -> bool:
    shape = one.work.shape
    return shape is not None and any(mention.name == table.state.name for mention in shape.mentions)


PATHOLOGY = Pathology(
    name="stale-statistics",
    title="the planner's statistics are older than the rows",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="Values that came after the last ANALYZE are in no histogram and among no common values, and the planner "
    "expects one row for them. It then joins by nested loops that are right for one row and read whole tables for "
    "many.",
    threshold="Twice the number of changes after which autovacuum analyzes: a busy table may pass that number once "
    "between two rounds. Updates alone do not count, as they seldom change how values are spread.",
    references=(
        "https://www.postgresql.org/docs/current/planner-stats.html",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",
    ),
    detect=_detect,
    explains=("table-scanned-in-a-loop", "statement-dominates", "reads-many-buffers-per-row", "work-mem-small"),
    needs=("tables", "counters.tables"),
    no_proof="a twin is analyzed when it is built",
)
