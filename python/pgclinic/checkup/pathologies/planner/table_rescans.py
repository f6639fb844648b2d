"""Statements that read a table again and again within one call: a nested loop over a sequential scan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.table_access import TableAccess, accesses, pages_of
from pgclinic.checkup.workload import Work

#: A statement that joins tables by hashing or merging visits each page of each once, or a few times.
READS_MIN = 10.0
#: Scans of the table for each call of a statement that joins it.
SCANS_PER_CALL_MIN = 10.0
#: Less is over in a millisecond, however often the table is read.
BUFFERS_MIN = 500


@dataclass(frozen=True)
class Rescan:
    """``times`` is how often one call of the statement reads all of the tables that it joins."""

    work: Work
    table: Table
    times: float
    scans_per_call: float

    @property
    def saved(self) -> float:
        """The part of its time that a join saves which reads each table once."""
        return 1.0 - 1.0 / self.times


def rescans(case: Case) -> Iterator[Rescan]:
    by_statement: dict[int, list[TableAccess]] = {}
    calls: dict[int, int] = {}
    for access in accesses(case):
        by_statement.setdefault(access.work.query_id, []).append(access)
        oid = access.table.state.oid
        calls[oid] = calls.get(oid, 0) + access.work.calls
    for those in by_statement.values():
        work = those[0].work
        if work.buffers_per_call < BUFFERS_MIN or not any(one.level.sources > 1 for one in those):
            continue
        joined = {one.table.state.oid: one.table for one in those}
        times = work.buffers_per_call / max(sum(pages_of(case, table) for table in joined.values()), 1)
        ill = max(joined.values(), key=lambda one: _scans(one) / calls[one.state.oid])
        per_call = _scans(ill) / calls[ill.state.oid]
        if times >= READS_MIN and per_call >= SCANS_PER_CALL_MIN:
            yield Rescan(work=work, table=ill, times=times, scans_per_call=per_call)


def saved_of(loops: Iterable[Rescan]) -> Mapping[int, float]:
    """By statement."""
    return {loop.work.query_id: loop.saved for loop in loops}


def _scans(table: Table) -> int:
    return table.counters.sequential_scans if table.counters is not None else 0
