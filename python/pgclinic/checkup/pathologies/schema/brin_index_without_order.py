"""A BRIN index on a column whose values are scattered over the table."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.index_upkeep import create_index, drop_index
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import PAGES_MIN, index_evidence, pages_of, table_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: Of a column in the order of the table it is 1 or -1; below this every range of pages has values of all kinds.
CORRELATION_MIN = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        pages = pages_of(case, table)
        if pages < PAGES_MIN:
            continue
        known = case.columns_by_table.get((table.state.schema, table.state.name), {})
        for index in table.indexes:
            state = index.state
            column = known.get(state.columns[0]) if len(state.columns) == 1 and state.columns[0] else None
            if state.method != "brin" or not state.is_valid or column is None or column.correlation is None:
                continue
            if abs(column.correlation) >= CORRELATION_MIN or state.parent_oid is not None:
                continue
            scans = index.counters.scans if index.counters is not None else 0
            yield Seen(
                subject=index.qualified,
                severity=Severity.NOTICE,
                evidence=(
                    index_evidence(
                        index, Fact(name="correlation of its column", value=column.correlation, unit=Unit.RATIO)
                    ),
                    table_evidence(table),
                ),
                tables=(table.name,),
                cost=Cost(
                    kind=CostKind.BUFFERS_PER_LOOKUP,
                    value=float(pages),
                    basis=(Fact(name="scans by the index", value=scans, unit=Unit.COUNT),),
                ),
                treatments=(
                    drop_index(index, title="drop it", risk="none for lookups of few rows, which it cannot serve"),
                    create_index(table, state.columns, title="have a B-tree in its place", prevents=True),
                ),
            )


PATHOLOGY = Pathology(
    name="brin-index-without-order",
    title="a BRIN index is on a column without order",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="BRIN keeps the least and the greatest value of each range of pages. Where values are scattered every "
    "range has nearly all of them, and a scan by the index reads the whole table.",
    threshold="A correlation below 0.5 between the values and the order of the table, by the last ANALYZE.",
    references=("https://www.postgresql.org/docs/current/brin.html",),
    detect=_detect,
    explains=("reads-many-buffers-per-row",),
    needs=("tables", "indexes"),
    proof=ProofOn.TWIN,
)
