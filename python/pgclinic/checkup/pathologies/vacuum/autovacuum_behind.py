"""All workers of autovacuum are busy, and tables that are due wait for one."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import dead_rows_trigger, is_vacuumed, naptime_s
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import carries_dead_rows, dead_rows_evidence, dead_space
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence, vacuum
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import SessionState

#: Of autovacuum's trigger: a table passes it as soon as it is due, and twice as much while it waits.
TRIGGERS_MIN = 2.0
_TABLES_NAMED = 5
_WORKER = "autovacuum worker"


def _detect(case: Case) -> Iterator[Seen]:
    workers = [session for session in case.snapshot.sessions if session.backend_type == _WORKER]
    allowed = case.number("autovacuum_max_workers") or 3.0
    # A worker that has just started may finish all that waits.
    if len(workers) < allowed or min(worker.connected_s or 0.0 for worker in workers) < naptime_s(case):
        return
    in_work = {one.table_oid for one in case.snapshot.vacuums}
    waiting = sorted(
        (table for table in case.tables if table.state.oid not in in_work and _waits(case, table)),
        key=lambda one: one.dead,
        reverse=True,
    )
    if not waiting:
        return
    named = waiting[:_TABLES_NAMED]
    yield Seen(
        subject="autovacuum",
        severity=Severity.WARNING,
        evidence=(
            *(dead_rows_evidence(case, one) for one in named),
            *(_worker_evidence(case, worker) for worker in workers),
            setting_evidence(case, "autovacuum_max_workers", Fact(name="tables that wait", value=len(waiting))),
        ),
        tables=tuple(one.name for one in named),
        cost=dead_space(named[0]),
        treatments=(*(vacuum(one.state, title=f"vacuum {one.name} now") for one in named), _more_work(case)),
    )


def _waits(case: Case, table: Table) -> bool:
    due = table.dead > TRIGGERS_MIN * dead_rows_trigger(case, table)
    return due and carries_dead_rows(table) and is_vacuumed(case, table)


def _worker_evidence(case: Case, worker: SessionState) -> Evidence:
    facts = [Fact(name="runs for", value=worker.connected_s or 0.0, unit=Unit.SECONDS)]
    vacuum_of = next((one for one in case.snapshot.vacuums if one.pid == worker.pid), None)
    table = case.all_tables.get(vacuum_of.table_oid) if vacuum_of is not None else None
    if worker.database is not None:
        facts.append(Fact(name="database", value=worker.database))
    if vacuum_of is not None and table is not None:
        facts.append(Fact(name="table", value=table.name))
        facts.append(Fact(name="pages scanned", value=vacuum_of.pages_scanned, unit=Unit.COUNT))
        facts.append(Fact(name="pages", value=vacuum_of.pages, unit=Unit.COUNT))
    if worker.wait_event is not None:
        facts.append(Fact(name="waits for", value=worker.wait_event))
    return Evidence(kind=SubjectKind.SESSION, name=_WORKER, pid=worker.pid, facts=tuple(facts))


def _more_work(case: Case) -> Treatment:
    """More workers share one budget of I/O: without a larger one each of them is slower."""
    limit = case.number("autovacuum_vacuum_cost_limit") or -1.0
    limit = limit if limit > 0 else case.number("vacuum_cost_limit") or 200.0
    return change_settings(
        case,
        {"autovacuum_vacuum_cost_limit": str(min(round(limit) * 5, 10_000))},
        title="give the workers five times as much I/O",
        risk="VACUUM reads and writes more at a time; watch the latency of the disks",
    )


PATHOLOGY = Pathology(
    name="autovacuum-behind",
    title="autovacuum does not keep up",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="All workers of autovacuum are busy, and a table that is due waits until one of them has finished. "
    "Meanwhile its dead rows grow far beyond the threshold that autovacuum would keep.",
    threshold="Every worker has been busy for longer than autovacuum_naptime, and a table has twice the dead rows "
    "that make it due: with a free worker it would have been vacuumed within one naptime.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-AUTOVACUUM-MAX-WORKERS",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",
    ),
    detect=_detect,
    explains=("dead-rows", "table-bloat", "index-bloat", "toast-bloat", "visibility-map-stale", "stale-statistics"),
    needs=("counters.tables", "sessions"),
    no_proof="what waits for a worker on the live server does not wait on a twin",
)
