"""Autovacuum sleeps most of the time, by its cost settings, while a table waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import parameter
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import carries_dead_rows, dead_rows_evidence, dead_space
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.snapshot import VacuumState
from pgclinic.sql.quoting import qualified

#: A VACUUM that works for half of its time would end twice as fast at most.
SLEEP_SHARE_MIN = 0.5
#: The default pause between two runs of autovacuum: what ends sooner keeps no table waiting.
LEFT_S_MIN = 60.0
_DELAY, _LIMIT = "autovacuum_vacuum_cost_delay", "autovacuum_vacuum_cost_limit"
_WORKER = "autovacuum worker"
#: Ten times the default: about 400 MB/s of pages that are changed, if the disk can.
_LIMIT_ADVISED = "2000"


def _detect(case: Case) -> Iterator[Seen]:
    for vacuum in case.snapshot.vacuums:
        table = case.all_tables.get(vacuum.table_oid)
        if not vacuum.is_automatic or table is None or not carries_dead_rows(table):
            continue
        asleep, left_s = _asleep_share(case, vacuum), _left_s(vacuum)
        if asleep is None or asleep < SLEEP_SHARE_MIN or left_s is None or left_s < LEFT_S_MIN:
            continue
        facts = (
            Fact(name="share of its time asleep", value=asleep, unit=Unit.SHARE),
            Fact(name="running for", value=vacuum.running_s or 0.0, unit=Unit.SECONDS),
            Fact(name="pages scanned", value=vacuum.pages_scanned, unit=Unit.COUNT),
            Fact(name="pages", value=vacuum.pages, unit=Unit.COUNT),
            Fact(name="scan ends at this speed in", value=left_s, unit=Unit.SECONDS),
        )
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING,
            # Samples before 18 are of all workers together.
            confidence=Confidence.CERTAIN if vacuum.delayed_ms else Confidence.LIKELY,
            evidence=(
                dead_rows_evidence(case, table, *facts),
                *(setting_evidence(case, name) for name in (_DELAY, _LIMIT, "vacuum_cost_limit")),
            ),
            tables=(table.name,),
            cost=dead_space(table),
            treatments=(_faster(case, table),),
        )


def _asleep_share(case: Case, vacuum: VacuumState) -> float | None:
    """As the server counts it (18, with track_cost_delay_timing), else by samples."""
    if vacuum.delayed_ms and vacuum.running_s:
        return min(vacuum.delayed_ms / 1000 / vacuum.running_s, 1.0)
    whole = case.sessions_where(backend_type=_WORKER)
    return case.sessions_where(backend_type=_WORKER, wait_event="VacuumDelay") / whole if whole else None


def _left_s(vacuum: VacuumState) -> float | None:
    """Until the table is scanned, at the speed so far. How far it is with an index nobody knows."""
    if vacuum.phase != "scanning heap" or not vacuum.pages_scanned or vacuum.running_s is None:
        return None
    return (vacuum.pages - vacuum.pages_scanned) * vacuum.running_s / vacuum.pages_scanned


def _faster(case: Case, table: Table) -> Treatment:
    own = [name for name in (_DELAY, _LIMIT) if table.option(name) is not None]
    if own:
        name = qualified(table.state.schema, table.state.name)
        before = ", ".join(f"{one} = {table.option(one)}" for one in own)
        return Treatment(
            title="go back to the cost limits of the server",
            applies=Applies.STATEMENT,
            sql=(f"alter table {name} reset ({', '.join(own)})",),
            lock="ShareUpdateExclusiveLock: reads and writes go on, and the VACUUM that runs is cancelled",
            risk="VACUUM reads and writes more at a time",
            undo=(f"alter table {name} set ({before})",),
        )
    values = {_LIMIT: _LIMIT_ADVISED}
    if parameter(case, table, _DELAY) > (case.default(_DELAY) or 0.0):
        values[_DELAY] = case.shown_default(_DELAY) or "2ms"
    return change_settings(
        case,
        values,
        title="let autovacuum do more between two sleeps",
        risk="VACUUM reads and writes more at a time; before PostgreSQL 16 a worker takes it over with its next table",
    )


PATHOLOGY = Pathology(
    name="autovacuum-throttled",
    title="autovacuum sleeps while a table waits for it",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="VACUUM sleeps for autovacuum_vacuum_cost_delay whenever it has done work worth "
    "autovacuum_vacuum_cost_limit, which all workers share. With a low limit it is slower than dead rows come, and "
    "the worker is missing elsewhere.",
    threshold="It sleeps for half of its time, needs another minute, and its table carries dead rows that cost: a "
    "VACUUM that ends within the default naptime keeps no other table waiting.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-AUTOVACUUM-VACUUM-COST-DELAY",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#RUNTIME-CONFIG-RESOURCE-VACUUM-COST",
    ),
    detect=_detect,
    explains=(
        "autovacuum-behind",
        "dead-rows",
        "table-bloat",
        "index-bloat",
        "visibility-map-stale",
        "wraparound-near",
    ),
    needs=("counters.tables", "vacuums"),
    no_proof="a twin is filled anew and has no dead rows to remove",
)
