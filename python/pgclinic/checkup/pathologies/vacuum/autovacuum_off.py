"""Autovacuum is switched off, for the server or for a table."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import dead_rows_trigger, is_switched_off
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import carries_dead_rows, dead_rows_evidence, dead_space
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence, vacuum
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment
from pgclinic.sql.quoting import qualified

#: A table with fewer dead rows loses nothing without autovacuum: many are switched off while they are filled.
DEAD_NOTICED = 1_000
_TABLES_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("autovacuum") == "off":
        yield _of_server(case)
    for table in case.tables:
        if not is_switched_off(table.option("autovacuum_enabled")):
            continue
        if table.dead >= DEAD_NOTICED and table.dead > dead_rows_trigger(case, table):
            yield _of_table(case, table)


def _of_server(case: Case) -> Seen:
    ill = sorted((table for table in case.tables if carries_dead_rows(table)), key=lambda one: one.dead, reverse=True)
    worst = ill[:_TABLES_NAMED]
    return Seen(
        subject="autovacuum",
        severity=Severity.WARNING if ill else Severity.NOTICE,
        evidence=(setting_evidence(case, "autovacuum"), *(dead_rows_evidence(case, one) for one in worst)),
        cost=dead_space(worst[0]) if worst else None,
        treatments=(
            change_settings(
                case,
                {"autovacuum": "on"},
                title="switch autovacuum on",
                risk="it begins with all tables that are due, with three workers and their I/O",
            ),
            *(vacuum(one.state, title=f"remove the dead rows of {one.name} now") for one in worst),
        ),
    )


def _of_table(case: Case, table: Table) -> Seen:
    name = qualified(table.state.schema, table.state.name)
    value = table.option("autovacuum_enabled") or "off"
    return Seen(
        subject=table.name,
        severity=Severity.WARNING if carries_dead_rows(table) else Severity.NOTICE,
        evidence=(dead_rows_evidence(case, table, Fact(name="storage parameter autovacuum_enabled", value=value)),),
        tables=(table.name,),
        cost=dead_space(table),
        treatments=(
            Treatment(
                title="let autovacuum look after the table again",
                applies=Applies.STATEMENT,
                sql=(f"alter table {name} reset (autovacuum_enabled)",),
                lock="ShareUpdateExclusiveLock: reads and writes go on",
                risk="autovacuum vacuums the table within its next runs",
                undo=(f"alter table {name} set (autovacuum_enabled = {value})",),
            ),
            vacuum(table.state, title="remove the dead rows now"),
        ),
    )


PATHOLOGY = Pathology(
    name="autovacuum-off",
    title="autovacuum is off",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="Without autovacuum nothing removes dead rows, freezes old ones or renews the planner's statistics, "
    "unless somebody runs VACUUM and ANALYZE. Tables and indexes grow with every UPDATE and DELETE, and each scan "
    "reads it all.",
    threshold="A warning needs a table with 10,000 dead rows that are 40 % of its live ones: until then somebody else "
    "vacuums, or nothing is there to be removed. Off for a table is reported from 1,000 dead rows on.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-AUTOVACUUM",
    ),
    detect=_detect,
    explains=(
        "dead-rows",
        "table-bloat",
        "index-bloat",
        "toast-bloat",
        "catalog-bloat",
        "visibility-map-stale",
        "stale-statistics",
        "never-analyzed",
        "orphaned-temporary-tables",
    ),
    needs=("counters.tables",),
    no_proof="what it costs grows over hours, and a twin is filled anew",
)
