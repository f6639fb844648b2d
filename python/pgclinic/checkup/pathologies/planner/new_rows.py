"""Rows that came or went since a table's last ANALYZE, and the statements whose plans did not expect them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.planner.estimates import ROWS_MIN, wrong_estimates
from pgclinic.checkup.pathologies.planner.table_rescans import Rescan, rescans
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import Work
from pgclinic.model.finding import Fact, Unit


@dataclass(frozen=True)
class Misled:
    """A statement whose plan expected ``missed`` fewer rows of the table than came, or more; ``tables`` it reads.

    ``was_counted``: a plan in the log has both figures; else they follow from how often the statement reads another
    table.
    """

    work: Work
    tables: tuple[str, ...]
    missed: float
    was_counted: bool

    def fact(self) -> Fact:
        return Fact(name="rows that its plan did not expect", value=self.missed, unit=Unit.ROWS)


def misled_statements(case: Case) -> Mapping[int, Sequence[Misled]]:
    """By the oid of the table. A statement may be there twice, by its plan and by what it reads."""
    found: dict[int, list[Misled]] = {}
    for estimate in wrong_estimates(case):
        table = estimate.table
        found.setdefault(table.state.oid, []).append(
            Misled(estimate.work, (table.name,), estimate.missed, was_counted=True)
        )
    for rescan in rescans(case):
        # A table that is read in a loop is the inner one: the rows that were not expected are of another.
        for table in _joined_with(case, rescan):
            found.setdefault(table.state.oid, []).append(
                Misled(rescan.work, (table.name, rescan.table.name), rescan.scans_per_call, was_counted=False)
            )
    return found


def is_enough(case: Case, table: Table, missed: float) -> bool:
    """Whether the rows since ANALYZE can be what a plan did not expect: at least as many came or went."""
    return ROWS_MIN <= missed <= new_rows(case, table)


def new_rows(case: Case, table: Table) -> float:
    """How many rows came or went since ANALYZE, at least: updates since the reset may all be later than that."""
    counters = table.counters
    if counters is None:
        return 0.0
    now = (table.state.bytes or 0) // case.snapshot.server.block_bytes
    if not counters.deleted and table.state.bytes is not None and now <= table.state.pages:
        # A session that fills a table and analyzes it reports its rows after that, and they are counted as new.
        return 0.0
    grown = abs(counters.live - table.state.rows) if table.state.rows is not None else 0.0
    return max(float(counters.changed_since_analyze - counters.updated), grown)


def _joined_with(case: Case, one: Rescan) -> Iterator[Table]:
    mentions = one.work.shape.mentions if one.work.shape is not None else ()
    tables = {table.state.oid: table for mention in mentions if (table := table_of(case, mention)) is not None}
    tables.pop(one.table.state.oid, None)
    yield from tables.values()
