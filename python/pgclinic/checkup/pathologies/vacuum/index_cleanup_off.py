"""VACUUM leaves the dead entries of a table's indexes, by a storage parameter."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import is_switched_off
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import (
    carries_dead_rows,
    dead_rows_evidence,
    dead_space,
    last_vacuum_epoch_s,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment
from pgclinic.sql.quoting import qualified

_PARAMETER = "vacuum_index_cleanup"


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        value = table.option(_PARAMETER)
        if value is None or not is_switched_off(value) or last_vacuum_epoch_s(table) is None:
            continue
        if not table.indexes or not carries_dead_rows(table):
            continue
        name = qualified(table.state.schema, table.state.name)
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING,
            evidence=(dead_rows_evidence(case, table, Fact(name=f"storage parameter {_PARAMETER}", value=value)),),
            tables=(table.name,),
            cost=dead_space(table),
            treatments=(
                Treatment(
                    title="let VACUUM clean the indexes again",
                    applies=Applies.STATEMENT,
                    sql=(f"alter table {name} reset ({_PARAMETER})", f"vacuum {name}"),
                    lock="ShareUpdateExclusiveLock: reads and writes go on",
                    risk="the first VACUUM reads the whole table and its indexes",
                    undo=(f"alter table {name} set ({_PARAMETER} = {value})",),
                ),
                Treatment(
                    title="or clean the indexes once",
                    applies=Applies.STATEMENT,
                    sql=(f"vacuum (index_cleanup on) {name}",),
                    lock="ShareUpdateExclusiveLock: reads and writes go on",
                    risk="the dead entries come again",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="index-cleanup-off",
    title="VACUUM leaves dead entries in the indexes of a table",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="With vacuum_index_cleanup off VACUUM removes no index entries, and so no line pointers of dead rows "
    "either. Both stay and grow, and index scans follow entries that lead to nothing.",
    threshold="10,000 dead rows that are 40 % of the live ones have stayed although the table was vacuumed: the "
    "parameter is meant for one VACUUM in a hurry, and costs nothing until dead rows gather.",
    references=(
        "https://www.postgresql.org/docs/current/sql-createtable.html#RELOPTION-VACUUM-INDEX-CLEANUP",
        "https://www.postgresql.org/docs/current/sql-vacuum.html",
    ),
    detect=_detect,
    explains=("dead-rows", "index-bloat", "autovacuum-without-effect"),
    needs=("counters.tables",),
    no_proof="a twin is filled anew and has no dead rows",
)
