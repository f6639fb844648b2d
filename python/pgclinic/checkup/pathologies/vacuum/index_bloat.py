"""An index is mostly empty pages."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index
from pgclinic.checkup.pathologies.vacuum.table_space import FREE_BYTES_MIN, FREE_BYTES_WARNING, index_written_anew_bytes
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

#: Half of the file, counted from pages that are 69 % full, as those of keys in random order are.
FREE_SHARE_MIN = 0.5
#: Or so much of the shared buffers, if the index is read: what it takes there nothing else can have.
BUFFERS_SHARE_WARNING = 0.25


def _detect(case: Case) -> Iterator[Seen]:
    buffers = case.number("shared_buffers") or 0.0
    for table in case.tables:
        for index in table.indexes:
            whole, anew = index.state.bytes, index_written_anew_bytes(case, table, index)
            if whole is None or anew is None:
                continue
            free = whole - anew
            if free < FREE_BYTES_MIN or free < FREE_SHARE_MIN * whole:
                continue
            is_read = index.counters is not None and index.counters.scans > 0
            crowds = is_read and buffers > 0 and free >= BUFFERS_SHARE_WARNING * buffers
            facts = (
                Fact(name="size", value=whole, unit=Unit.BYTES),
                Fact(name="size if built anew, at most", value=anew, unit=Unit.BYTES),
                Fact(name="free share, estimated", value=free / whole, unit=Unit.SHARE),
                Fact(name="table", value=table.name),
            )
            yield Seen(
                subject=index.qualified,
                severity=Severity.WARNING if crowds or free >= FREE_BYTES_WARNING else Severity.NOTICE,
                confidence=Confidence.LIKELY,
                evidence=(Evidence(kind=SubjectKind.INDEX, name=index.qualified, facts=facts),),
                tables=(table.name,),
                cost=Cost(kind=CostKind.SPACE_BYTES, value=free, basis=facts[:2]),
                treatments=(_rebuild(index),),
            )


def _rebuild(index: Index) -> Treatment:
    return Treatment(
        title="build the index anew",
        applies=Applies.STATEMENT,
        sql=(f"reindex index concurrently {qualified(index.state.schema, index.state.name)}",),
        lock="ShareUpdateExclusiveLock: reads and writes go on",
        risk="reads the table twice and needs the space of the new index beside the old one; "
        "if it fails an invalid index is left that must be dropped",
    )


PATHOLOGY = Pathology(
    name="index-bloat",
    title="an index is mostly empty",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="VACUUM removes entries from the pages of an index, but a page is used for other keys only once it is "
    "empty. What is left spreads few entries over many pages, which take cache and disk.",
    threshold="Half of the file and 8 MB, beyond what pages two thirds full would need: that is how full a B-tree is "
    "whose keys come in random order. A warning is a gigabyte, or a quarter of shared_buffers.",
    references=(
        "https://www.postgresql.org/docs/current/routine-reindex.html",
        "https://www.postgresql.org/docs/current/sql-reindex.html",
    ),
    detect=_detect,
    needs=("counters.tables",),
    no_proof="indexes of a twin are built anew",
)
