"""VACUUM runs and the dead rows stay, because something holds the horizon."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import dead_rows_trigger, is_vacuumed, naptime_s
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import (
    carries_dead_rows,
    dead_rows_evidence,
    dead_space,
    holds_here,
    last_vacuum_epoch_s,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import cancel_query, end_session, vacuum
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import HorizonHolding

_KINDS = {
    "session": SubjectKind.SESSION,
    "query": SubjectKind.SESSION,
    "prepared": SubjectKind.PREPARED,
    "slot": SubjectKind.SLOT,
    "standby": SubjectKind.STANDBY,
}


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        if not carries_dead_rows(table) or table.dead <= dead_rows_trigger(case, table):
            continue
        hold = _hold_through_vacuum(case, table)
        if hold is None:
            continue
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING,
            # Of a slot or a standby nobody knows since when it holds.
            confidence=Confidence.CERTAIN if hold.since_epoch_s is not None else Confidence.LIKELY,
            evidence=(dead_rows_evidence(case, table, *_runs(case, table)), _hold_evidence(hold)),
            tables=(table.name,),
            cost=dead_space(table),
            treatments=(*_end(hold), vacuum(table.state, title="remove the dead rows when the horizon is free")),
        )


def _hold_through_vacuum(case: Case, table: Table) -> HorizonHolding | None:
    """What was held already when the table was vacuumed last; the oldest of several."""
    vacuumed_at = last_vacuum_epoch_s(table)
    if vacuumed_at is None:
        return None
    held = (one for one in holds_here(case) if one.since_epoch_s is None or one.since_epoch_s <= vacuumed_at)
    return next(held, None)


def _runs(case: Case, table: Table) -> Iterator[Fact]:
    counters = table.counters
    if counters is None:
        return
    yield Fact(name="autovacuums", value=counters.autovacuums, unit=Unit.COUNT)
    if counters.autovacuum_ms is not None and counters.autovacuums:
        each_ms = counters.autovacuum_ms / counters.autovacuums
        yield Fact(name="time of an autovacuum", value=each_ms, unit=Unit.MILLISECONDS)
    if is_vacuumed(case, table):
        yield Fact(name="autovacuum repeats it every", value=naptime_s(case), unit=Unit.SECONDS)


def _hold_evidence(hold: HorizonHolding) -> Evidence:
    facts = [Fact(name="xmin behind", value=hold.xmin_age or 0, unit=Unit.TRANSACTIONS)]
    if hold.held_s is not None:
        facts.append(Fact(name="held for", value=hold.held_s, unit=Unit.SECONDS))
    if hold.state:
        facts.append(Fact(name="state", value=hold.state))
    return Evidence(kind=_KINDS[hold.kind], name=hold.holder, pid=hold.pid, facts=tuple(facts))


def _end(hold: HorizonHolding) -> tuple[Treatment, ...]:
    """Holds of other kinds have findings of their own."""
    if hold.pid is None or hold.kind not in ("session", "query"):
        return ()
    if hold.kind == "query":
        return (cancel_query(hold.pid, title="cancel the query", risk="its transaction is rolled back"),)
    risk = "its transaction is rolled back; the application sees a lost connection"
    return (end_session(hold.pid, title="end the session that holds the horizon", risk=risk),)


PATHOLOGY = Pathology(
    name="autovacuum-without-effect",
    title="VACUUM runs and dead rows stay",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="VACUUM may remove only row versions that no snapshot can see, and the held horizon is older than these. "
    "Autovacuum finds the table due again at once, and reads it and its indexes in every run for nothing.",
    threshold="The table was vacuumed while the horizon was held, and 10,000 dead rows, 40 % of the live ones and more "
    "than autovacuum's trigger, are still there: rows that died after that run would be removed by the next one.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ),
    detect=_detect,
    explains=("dead-rows",),
    needs=("counters.tables", "horizon"),
    no_proof="a hold of the horizon is not in a twin; the pathology of the holder has a study",
)
