"""Statistics of a table are much older than its rows, though statements read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pgclinic.checkup.autovacuum_trigger import analyze_trigger
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.planner.new_rows import Misled, is_enough, misled_statements, new_rows
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.treatments import analyze
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Severity, Treatment, Unit
from pgclinic.sql.quoting import qualified

#: In a smaller table a wrong estimate is wrong by few rows.
ROWS_MIN = 1_000
#: Autovacuum analyzes at once this threshold; between two of its rounds a busy table may pass it, not twice.
OVERDUE_RATIO = 2.0
#: Updates leave values as they are spread, most of the time. Rows that come and go bring new ones.
_NEW_SHARE_MIN = 0.2
#: Of the new rows: by then a plan misses half of what it misses now.
_EARLIER = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    misled = misled_statements(case)
    for table in case.tables:
        if table.live < ROWS_MIN or not _is_read(table) or not _was_analyzed(table):
            continue
        those = misled.get(table.state.oid, ())
        explained = [one for one in those if is_enough(case, table, one.missed)]
        if _is_overdue(case, table):
            yield _seen(case, table, those)
        elif explained:
            yield _seen(case, table, explained)


def _is_overdue(case: Case, table: Table) -> bool:
    """By the number of changes alone, whatever statements do."""
    changed = table.counters.changed_since_analyze if table.counters is not None else 0
    return (
        changed >= max(ROWS_MIN, OVERDUE_RATIO * analyze_trigger(case, table))
        and new_rows(case, table) >= _NEW_SHARE_MIN * changed
    )


def _seen(case: Case, table: Table, misled: Sequence[Misled]) -> Seen:
    worst = {one.work.query_id: one for one in sorted(misled, key=lambda one: (one.was_counted, one.missed))}
    works = tuple(one.work for one in worst.values())
    return Seen(
        subject=table.name,
        severity=severity_of(case, works) if works else Severity.NOTICE,
        confidence=_confidence(case, table, misled),
        evidence=(
            table_evidence(table, *_facts(case, table)),
            *(statement_evidence(case, one.work, one.fact()) for one in worst.values()),
        ),
        tables=tuple(dict.fromkeys((table.name, *(name for one in misled for name in one.tables)))),
        cost=time_cost(case, works) if works else None,
        claim=time_claim(works, at_most=True) if works else None,
        treatments=(analyze(table.state), _analyze_earlier(case, table, works)),
    )


def _confidence(case: Case, table: Table, misled: Sequence[Misled]) -> Confidence:
    """Below the number of changes that is too many anyway, only a plan says that it is this table which misleads it."""
    is_likely = any(one.was_counted for one in misled) or (bool(misled) and _is_overdue(case, table))
    return Confidence.LIKELY if is_likely else Confidence.POSSIBLE


def _facts(case: Case, table: Table) -> Iterator[Fact]:
    counters = table.counters
    if counters is None:
        return
    yield Fact(name="rows changed since ANALYZE", value=counters.changed_since_analyze, unit=Unit.ROWS)
    yield Fact(name="of these came or went", value=new_rows(case, table), unit=Unit.ROWS)
    yield Fact(name="autovacuum analyzes after", value=analyze_trigger(case, table), unit=Unit.ROWS)
    analyzed = max(counters.last_analyze_epoch_s or 0.0, counters.last_autoanalyze_epoch_s or 0.0)
    if analyzed:
        yield Fact(name="analyzed", value=case.snapshot.server.clock_epoch_s - analyzed, unit=Unit.SECONDS)


def _analyze_earlier(case: Case, table: Table, works: Sequence[Work]) -> Treatment:
    """By a share of the rows; where statements are hurt by fewer, by their number, whatever the table grows to."""
    options = {"autovacuum_analyze_scale_factor": "0.02"}
    number = int(_EARLIER * new_rows(case, table))
    if works and number < 0.02 * table.live:
        options = {"autovacuum_analyze_scale_factor": "0", "autovacuum_analyze_threshold": str(number)}
    return Treatment(
        title="analyze it earlier from now on",
        applies=Applies.STATEMENT,
        sql=(_set(table, options),),
        lock="ShareUpdateExclusiveLock for a moment",
        risk="ANALYZE runs more often on this table",
        undo=tuple(_as_before(table, options)),
        prevents=True,
    )


def _as_before(table: Table, names: Iterable[str]) -> Iterator[str]:
    own = {name: value for name in names if (value := table.option(name)) is not None}
    unset = [name for name in names if name not in own]
    if own:
        yield _set(table, own)
    if unset:
        yield f"alter table {_name(table)} reset ({', '.join(unset)})"


def _set(table: Table, options: Mapping[str, str]) -> str:
    return f"alter table {_name(table)} set ({', '.join(f'{name} = {value}' for name, value in options.items())})"


def _name(table: Table) -> str:
    return qualified(table.state.schema, table.state.name)


def _is_read(table: Table) -> bool:
    counters = table.counters
    return counters is not None and bool(counters.sequential_scans or counters.index_scans)


def _was_analyzed(table: Table) -> bool:
    counters = table.counters
    return counters is not None and bool(counters.last_analyze_epoch_s or counters.last_autoanalyze_epoch_s)


PATHOLOGY = Pathology(
    name="stale-statistics",
    title="the planner's statistics are older than the rows",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="Values that came after the last ANALYZE are in no histogram and among no common values, and the planner "
    "expects one row for them. It then joins by nested loops that are right for one row and read whole tables for "
    "many.",
    threshold="Twice the number of changes after which autovacuum analyzes: a busy table may pass that number once "
    "between two rounds. Updates alone do not count, as they seldom change how values are spread. Where a plan in the "
    "log got a hundred rows more or fewer than it expected, or a statement reads another table in a loop that often, "
    "that number of new rows is enough: today's rows are few among all, and below it they cannot be the reason.",
    references=(
        "https://www.postgresql.org/docs/current/planner-stats.html",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",
    ),
    detect=_detect,
    explains=(
        "row-estimate-wrong",
        "table-scanned-in-a-loop",
        "statement-dominates",
        "reads-many-buffers-per-row",
        "work-mem-small",
    ),
    needs=("tables", "counters.tables"),
    no_proof="a twin is analyzed when it is built",
)
