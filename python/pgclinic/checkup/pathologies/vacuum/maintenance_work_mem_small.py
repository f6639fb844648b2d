"""Dead rows of a table do not fit the memory of a VACUUM: its indexes are read several times."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.memory_sizes import size_text
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Unit

#: Until 16 a VACUUM has an array of row addresses; it takes 1 GB at most.
ROW_BYTES = 6
#: Since 17 it has a tree by pages: an entry of a page is its header, a few words of bits and its part of the nodes.
PAGE_BYTES = 48
MEMORY_MAX = 1 << 30
_TABLES_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    name = "autovacuum_work_mem" if (case.number("autovacuum_work_mem") or -1.0) > 0 else "maintenance_work_mem"
    memory = case.number(name)
    if memory is None or memory >= MEMORY_MAX:
        return
    ill = [table for table in case.tables if table.indexes and dead_bytes(case, table) > memory]
    if not ill:
        return
    ill.sort(key=lambda one: dead_bytes(case, one), reverse=True)
    running = [vacuum for vacuum in case.snapshot.vacuums if vacuum.index_passes > 1]
    needed = min(1.5 * dead_bytes(case, ill[0]), float(MEMORY_MAX))
    yield Seen(
        subject=name,
        severity=Severity.WARNING if running else Severity.NOTICE,
        confidence=Confidence.CERTAIN if running else Confidence.LIKELY,
        evidence=(
            setting_evidence(case, name),
            *(_evidence(case, one, memory) for one in ill[:_TABLES_NAMED]),
        ),
        tables=tuple(one.name for one in ill),
        treatments=(
            change_settings(
                case,
                {name: size_text(max(needed, 64 << 20))},
                title="memory for all dead rows of the largest table",
                risk="as much memory for each of autovacuum_max_workers, and for CREATE INDEX",
            ),
        ),
    )


def dead_bytes(case: Case, table: Table) -> float:
    """Memory that a VACUUM of the table would need for its dead rows now."""
    if case.major < 17:
        return float(ROW_BYTES * table.dead)
    pages = (table.state.bytes or 0) / case.snapshot.server.block_bytes
    return PAGE_BYTES * min(float(table.dead), pages)


def _evidence(case: Case, table: Table, memory: float) -> Evidence:
    needed = dead_bytes(case, table)
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="dead rows", value=table.dead, unit=Unit.ROWS),
            Fact(name="memory for them", value=int(needed), unit=Unit.BYTES),
            Fact(name="passes over its indexes", value=math.ceil(needed / memory), unit=Unit.COUNT),
            Fact(name="indexes", value=len(table.indexes), unit=Unit.COUNT),
        ),
    )


PATHOLOGY = Pathology(
    name="maintenance-work-mem-small",
    title="the memory of VACUUM is too small for the dead rows of a table",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="VACUUM collects dead rows until maintenance_work_mem (autovacuum_work_mem for automatic ones) is full, "
    "then reads every index of the table from end to end to remove them. Each further filling reads all indexes again.",
    threshold="The dead rows of a table now need more than that memory: 6 bytes a row until 16, about 48 a page since "
    "17. With less one pass over the indexes is enough, and more memory changes nothing.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-MAINTENANCE-WORK-MEM",
        "https://www.postgresql.org/docs/current/progress-reporting.html#VACUUM-PROGRESS-REPORTING",
    ),
    detect=_detect,
    explains=("vacuum-index-passes", "autovacuum-behind"),
    no_proof="a VACUUM of a twin is not that of the live table, whose dead rows it does not have",
)
