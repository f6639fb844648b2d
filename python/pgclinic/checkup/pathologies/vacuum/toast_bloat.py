"""The TOAST table of a table is mostly free space or dead chunks."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.table_space import FREE_BYTES_MIN, FREE_BYTES_WARNING, toast_written_anew_bytes
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

#: Half of the file: values that are replaced all the time keep up to a third free.
FREE_SHARE_MIN = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        whole, anew = table.state.toast_bytes, toast_written_anew_bytes(case, table)
        if not whole or anew is None:
            continue
        free = whole - anew
        if free < FREE_BYTES_MIN or free < FREE_SHARE_MIN * whole:
            continue
        facts = [
            Fact(name="size of its TOAST table", value=whole, unit=Unit.BYTES),
            Fact(name="size if written anew, at most", value=anew, unit=Unit.BYTES),
            Fact(name="free or dead share", value=free / whole, unit=Unit.SHARE),
        ]
        if table.counters is not None and table.counters.toast_dead is not None:
            facts.append(Fact(name="dead chunks", value=table.counters.toast_dead, unit=Unit.ROWS))
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if free >= FREE_BYTES_WARNING else Severity.NOTICE,
            confidence=Confidence.LIKELY,
            evidence=(Evidence(kind=SubjectKind.TABLE, name=table.name, facts=tuple(facts)),),
            tables=(table.name,),
            cost=Cost(kind=CostKind.SPACE_BYTES, value=free, basis=tuple(facts[:2])),
            treatments=(_rewrite(table),),
        )


def _rewrite(table: Table) -> Treatment:
    return Treatment(
        title="write the table with its TOAST table anew",
        applies=Applies.STATEMENT,
        sql=(f"vacuum (full, analyze) {qualified(table.state.schema, table.state.name)}",),
        lock="AccessExclusiveLock: reads and writes wait until it has ended",
        risk="the table cannot be used meanwhile, and the new one needs its space beside the old one; "
        "pg_repack and pg_squeeze do the same with a short lock",
    )


PATHOLOGY = Pathology(
    name="toast-bloat",
    title="a TOAST table is mostly free space",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="Values of more than 2 kB are stored in chunks in a TOAST table, and replacing one leaves its old "
    "chunks dead. VACUUM makes their space free for new chunks, but the file does not become smaller.",
    threshold="Half of the file and 8 MB, if all chunks were as large as they can be: replaced values keep up to a "
    "third free. A warning is a gigabyte.",
    references=(
        "https://www.postgresql.org/docs/current/storage-toast.html",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
    ),
    detect=_detect,
    no_proof="a twin is filled anew and has no free space",
)
