"""Autovacuum runs again and again on tables in which hardly anything has changed."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import analyze_trigger, dead_rows_trigger, is_vacuumed
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import rows_of
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.sql.quoting import qualified

#: A smaller table is vacuumed and analyzed in a few milliseconds.
ROWS_MIN = 10_000
#: A run for fewer changes than this share reads a hundred rows and index entries for each that it was started for.
TRIGGER_SHARE_MAX = 0.01
#: One run a minute for each table is what the default naptime allows at most.
RUNS_A_MINUTE_MIN, RUNS_MIN = 3.0, 3
#: A worker that is busy with one table for three seconds of each minute, or begins with it every ten seconds.
BUSY_SHARE_WARNING, RUNS_A_MINUTE_WARNING = 0.05, 6.0
_TRIGGERS = (
    "autovacuum_vacuum_threshold",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_analyze_scale_factor",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_vacuum_max_threshold",
)


def _detect(case: Case) -> Iterator[Seen]:
    elapsed_s = case.database_s
    for table in case.tables:
        counters = table.counters
        rows = rows_of(table)
        if counters is None or rows < ROWS_MIN or not is_vacuumed(case, table):
            continue
        trigger = min(dead_rows_trigger(case, table), analyze_trigger(case, table))
        runs = counters.autovacuums + counters.autoanalyzes
        a_minute = 60.0 * runs / elapsed_s
        if trigger >= TRIGGER_SHARE_MAX * rows or runs < RUNS_MIN or a_minute < RUNS_A_MINUTE_MIN:
            continue
        busy = _busy_share(table, elapsed_s)
        is_costly = a_minute >= RUNS_A_MINUTE_WARNING if busy is None else busy >= BUSY_SHARE_WARNING
        facts = [
            Fact(name="autovacuums", value=counters.autovacuums, unit=Unit.COUNT),
            Fact(name="autoanalyzes", value=counters.autoanalyzes, unit=Unit.COUNT),
            Fact(name="runs a minute", value=a_minute),
            Fact(name="rows", value=round(rows), unit=Unit.ROWS),
            Fact(name="changed rows that start a run", value=round(trigger), unit=Unit.ROWS),
        ]
        if busy is not None:
            facts.append(Fact(name="time of a worker", value=busy, unit=Unit.SHARE))
        own = tuple(name for name in _TRIGGERS if table.option(name) is not None)
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if is_costly else Severity.NOTICE,
            evidence=(
                Evidence(kind=SubjectKind.TABLE, name=table.name, facts=tuple(facts)),
                *(setting_evidence(case, name) for name in _lowered(case)),
            ),
            tables=(table.name,),
            treatments=(_reset(table, own) if own else _defaults(case),),
        )


def _busy_share(table: Table, elapsed_s: float) -> float | None:
    """How much of the time a worker was busy with the table; None before 18."""
    counters = table.counters
    if counters is None or counters.autovacuum_ms is None or counters.autoanalyze_ms is None:
        return None
    return (counters.autovacuum_ms + counters.autoanalyze_ms) / 1000 / elapsed_s


def _lowered(case: Case) -> tuple[str, ...]:
    """Settings that make it run more often than out of the box."""
    names = (*_TRIGGERS, "autovacuum_naptime")
    found = []
    for name in names:
        now, default = case.number(name), case.default(name)
        if now is not None and default is not None and 0 <= now < default:
            found.append(name)
    return tuple(found)


def _defaults(case: Case) -> Treatment:
    values = {name: case.shown_default(name) or "" for name in _lowered(case)}
    return change_settings(
        case,
        values,
        title="go back to the default thresholds",
        risk="tables keep up to a fifth of their rows as dead ones; give large tables a scale factor of their own",
    )


def _reset(table: Table, names: tuple[str, ...]) -> Treatment:
    name = qualified(table.state.schema, table.state.name)
    before = ", ".join(f"{one} = {table.option(one)}" for one in names)
    return Treatment(
        title="go back to the thresholds of the server",
        applies=Applies.STATEMENT,
        sql=(f"alter table {name} reset ({', '.join(names)})",),
        lock="ShareUpdateExclusiveLock: reads and writes go on",
        risk="the table keeps more dead rows between two runs",
        undo=(f"alter table {name} set ({before})",),
    )


PATHOLOGY = Pathology(
    name="autovacuum-churn",
    title="autovacuum runs without pause on a table",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="Each VACUUM reads all indexes of a table and every page that is not all-visible, each ANALYZE 30,000 "
    "rows by default, however few rows have changed. Low thresholds and a short naptime start them for nothing.",
    threshold="A run for less than 1 % of the rows, more than three times a minute: the default naptime allows one "
    "run a minute, and a run for more changes does work that is needed. A warning is 5 % of a worker's time, before "
    "PostgreSQL 18 six runs a minute.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#RUNTIME-CONFIG-AUTOVACUUM",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",
    ),
    detect=_detect,
    needs=("counters.tables",),
    proof=ProofOn.TWIN,
)
