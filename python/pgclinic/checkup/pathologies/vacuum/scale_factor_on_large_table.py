"""A large table gathers millions of dead rows before autovacuum comes."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import dead_rows_trigger, is_vacuumed, parameter
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import dead_rows_evidence, dead_space, rows_of
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment
from pgclinic.sql.quoting import qualified

#: One VACUUM then has a million rows to remove from each index, and runs for minutes.
TRIGGER_MIN = 1_000_000
#: What is gathered now; a table without dead rows needs no VACUUM.
GATHERED_SHARE_MIN = 0.1
#: A gigabyte of dead rows is read by scans and kept in cache.
DEAD_BYTES_WARNING = 1 << 30
_SCALE = "autovacuum_vacuum_scale_factor"
#: 1 % of the rows: each run removes what fits a few seconds, and index pages are still shared by many removed entries.
_SCALE_ADVISED, _TRIGGER_ADVISED_MAX = 0.01, 500_000


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        trigger = dead_rows_trigger(case, table)
        if trigger < TRIGGER_MIN or not is_vacuumed(case, table) or parameter(case, table, _SCALE) <= _SCALE_ADVISED:
            continue
        if not GATHERED_SHARE_MIN * trigger <= table.dead <= trigger:
            continue
        cost = dead_space(table)
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if cost is not None and cost.value >= DEAD_BYTES_WARNING else Severity.NOTICE,
            evidence=(dead_rows_evidence(case, table, *_own(table)), setting_evidence(case, _SCALE)),
            tables=(table.name,),
            cost=cost,
            treatments=(_smaller(case, table),),
        )


def _own(table: Table) -> Iterator[Fact]:
    value = table.option(_SCALE)
    if value is not None:
        yield Fact(name=f"storage parameter {_SCALE}", value=value)


def _smaller(case: Case, table: Table) -> Treatment:
    name, rows = qualified(table.state.schema, table.state.name), rows_of(table)
    scale = min(_SCALE_ADVISED, _TRIGGER_ADVISED_MAX / max(rows, 1.0))
    before = table.option(_SCALE)
    return Treatment(
        title=f"vacuum the table from {round(scale * rows):,} dead rows on",
        applies=Applies.STATEMENT,
        sql=(f"alter table {name} set ({_SCALE} = {scale:.4f})",),
        lock="ShareUpdateExclusiveLock: reads and writes go on",
        risk="more runs, each of which reads the indexes; every run is shorter",
        undo=(f"alter table {name} " + (f"reset ({_SCALE})" if before is None else f"set ({_SCALE} = {before})"),),
    )


PATHOLOGY = Pathology(
    name="scale-factor-on-large-table",
    title="a large table waits for millions of dead rows before it is vacuumed",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="Autovacuum waits until a share of a table is dead, 20 % by default. Of a hundred million rows that is "
    "twenty million: they bloat the table, and the VACUUM that removes them runs for hours.",
    threshold="A trigger of a million rows of which a tenth are dead now: below that a VACUUM takes seconds to "
    "minutes. A warning is a gigabyte of dead rows.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-AUTOVACUUM-VACUUM-SCALE-FACTOR",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",
    ),
    detect=_detect,
    explains=("dead-rows", "table-bloat", "index-bloat"),
    needs=("counters.tables",),
    no_proof="dead rows gather over days, and a twin is filled anew",
)
