"""A table carries many dead rows for its live ones."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import (
    carries_dead_rows,
    dead_rows_evidence,
    dead_space,
    holds_here,
    rows_of,
)
from pgclinic.checkup.pathologies.vacuum.table_scans import scan_claim
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import vacuum
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit


def _detect(case: Case) -> Iterator[Seen]:
    held = bool(holds_here(case))
    ill = sorted((one for one in case.tables if carries_dead_rows(one)), key=lambda one: one.dead, reverse=True)
    for table in ill:
        share = table.dead / (table.dead + rows_of(table))
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING,
            evidence=(dead_rows_evidence(case, table, Fact(name="share of dead rows", value=share, unit=Unit.SHARE)),),
            tables=(table.name,),
            cost=dead_space(table),
            claim=scan_claim(case, table, share),
            treatments=(
                vacuum(
                    table.state,
                    title="remove the dead rows",
                    risk="reads the whole table and its indexes once"
                    + ("; what the held horizon protects stays" if held else ""),
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="dead-rows",
    title="a table carries many dead rows",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="UPDATE and DELETE leave the old row version in the table and its entries in the indexes. Pruning of a "
    "page and deletion in a full page of a B-tree remove some of them, VACUUM all; until then scans and index lookups "
    "visit the dead versions too.",
    threshold="10,000 dead rows that are 40 % of the live ones: fewer rows fill 60 to 200 pages, which are read in "
    "less than a millisecond, and up to half of that share is what autovacuum leaves with its default scale factor.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ),
    detect=_detect,
    explains=("reads-many-buffers-per-row",),
    needs=("counters.tables",),
    no_proof="a twin is filled anew and has no dead rows",
)
