"""Statements that compare a column of uneven values, and take far longer on average than at best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.table_access import accesses
from pgclinic.checkup.workload import Work, statement_evidence
from pgclinic.model.finding import Evidence, Fact, Unit

#: A value that half of the rows have needs another plan than one that few have.
TOP_SHARE_MIN = 0.5
#: The five executions with a plan of their own are so much faster than those by the plan for all values.
TIMES_MIN = 20.0
#: A plan for the wrong value visits pages that hold nothing of what is asked for.
BUFFERS_PER_ROW_MIN = 10.0
CALLS_MIN = 10


@dataclass(frozen=True)
class Uneven:
    """``share`` is the part of the rows that have the column's most common value."""

    work: Work
    table: Table
    column: str
    share: float

    def evidence(self, case: Case) -> Evidence:
        return statement_evidence(
            case,
            self.work,
            Fact(name="shortest time", value=self.work.min_ms, unit=Unit.MILLISECONDS),
            Fact(name="longest time", value=self.work.max_ms, unit=Unit.MILLISECONDS),
            Fact(name="buffers each call", value=self.work.buffers_per_call, unit=Unit.BUFFERS),
            Fact(name="uneven column", value=f"{self.table.name}.{self.column}"),
            Fact(name="rows with its most common value", value=self.share, unit=Unit.SHARE),
        )


def uneven_statements(case: Case) -> Iterator[Uneven]:
    seen: set[int] = set()
    for access in accesses(case):
        work = access.work
        if work.query_id in seen or work.calls < CALLS_MIN or not access.level.has_limit:
            continue
        if work.mean_ms < TIMES_MIN * work.min_ms:
            continue
        if work.buffers < BUFFERS_PER_ROW_MIN * max(work.rows, work.calls):
            continue
        known = case.columns_by_table.get((access.table.state.schema, access.table.state.name), {})
        for column in access.equal_columns():
            share = known[column].top_share if column in known else None
            if share is not None and share >= TOP_SHARE_MIN:
                seen.add(work.query_id)
                yield Uneven(work=work, table=access.table, column=column, share=share)
                break
