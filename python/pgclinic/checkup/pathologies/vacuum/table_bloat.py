"""A table is mostly free space."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import rows_of
from pgclinic.checkup.pathologies.vacuum.table_scans import scan_claim
from pgclinic.checkup.pathologies.vacuum.table_space import (
    FREE_BYTES_MIN,
    FREE_BYTES_WARNING,
    row_bytes,
    written_anew_bytes,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)
from pgclinic.sql.quoting import qualified

#: Half of the file: a table that is updated all the time and vacuumed in time has a fifth to a third free.
FREE_SHARE_MIN = 0.5
#: Scans of free pages: 80 MB a second, some percent of a CPU.
FREE_PAGES_A_S_WARNING = 10_000.0


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        anew, each = written_anew_bytes(case, table), row_bytes(case, table)
        whole = table.state.bytes
        if whole is None or anew is None or each is None:
            continue
        # What dead rows take is another finding.
        free = whole - anew - table.dead * each
        if free < FREE_BYTES_MIN or free < FREE_SHARE_MIN * whole:
            continue
        free_pages_a_s = _scans_a_s(case, table) * free / case.snapshot.server.block_bytes
        is_costly = free >= FREE_BYTES_WARNING or free_pages_a_s >= FREE_PAGES_A_S_WARNING
        facts = (
            Fact(name="size", value=whole, unit=Unit.BYTES),
            Fact(name="size if written anew, estimated", value=anew, unit=Unit.BYTES),
            Fact(name="free share, estimated", value=free / whole, unit=Unit.SHARE),
            Fact(name="live rows", value=round(rows_of(table)), unit=Unit.ROWS),
            Fact(name="free pages that scans read", value=free_pages_a_s, unit=Unit.PER_S),
        )
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if is_costly else Severity.NOTICE,
            confidence=Confidence.LIKELY,
            evidence=(Evidence(kind=SubjectKind.TABLE, name=table.name, facts=facts),),
            tables=(table.name,),
            cost=Cost(kind=CostKind.SPACE_BYTES, value=free, basis=facts[:2]),
            claim=scan_claim(case, table, free / whole),
            treatments=(_rewrite(table),),
        )


def _scans_a_s(case: Case, table: Table) -> float:
    """Sequential scans: of the observation, or without one since statistics were reset."""
    if case.observed_s:
        return case.table_change(table.state.oid, "sequential_scans") / case.observed_s
    scans = table.counters.sequential_scans if table.counters is not None else 0
    return scans / case.database_s


def _rewrite(table: Table) -> Treatment:
    return Treatment(
        title="write the table anew",
        applies=Applies.STATEMENT,
        sql=(f"vacuum (full, analyze) {qualified(table.state.schema, table.state.name)}",),
        lock="AccessExclusiveLock: reads and writes wait until it has ended",
        risk="the table cannot be used meanwhile, and the new one needs its space beside the old one; "
        "pg_repack and pg_squeeze do the same with a short lock",
    )


PATHOLOGY = Pathology(
    name="table-bloat",
    title="a table is mostly free space",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="VACUUM makes the space of dead rows free for new ones, but gives pages back to the disk only at the "
    "end of the file. What once was full of dead rows stays in the file, and each sequential scan reads it.",
    threshold="Half of the file and 8 MB: a table that is updated and vacuumed in time keeps up to a third free for "
    "its next updates. A warning is a gigabyte, or scans that read 10,000 free pages a second.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
        "https://www.postgresql.org/docs/current/sql-vacuum.html",
    ),
    detect=_detect,
    explains=("reads-many-buffers-per-row",),
    needs=("counters.tables",),
    no_proof="a twin is filled anew and has no free space",
)
