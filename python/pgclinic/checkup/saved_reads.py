"""What part of a statement's time an index saves: of the buffers that a call visits, those of a scan that it replaces.

Buffers stand for time, as they do in proofs by plans. Counters of statements and plans say what a call visits now; what
is left is the lookups that find the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.lookup_cost import buffers_of_rows
from pgclinic.checkup.table_access import TableAccess, fraction_common, fraction_equal, pages_of
from pgclinic.checkup.workload import Work
from pgclinic.model.query_plan import PlanNode, QueryPlan

#: Where the bounds are further apart, what is in between is a guess: it may be more than 1.5 times wrong.
GUESS_RATIO = 2.0


@dataclass(frozen=True)
class Reading:
    """Buffers of one call: ``scanned`` of the table in so many ``scans``, of ``whole``."""

    scanned: float
    whole: float
    scans: float = 1.0


@dataclass(frozen=True)
class Saving:
    """The part of a statement's time that its cure saves, from 0 to 1, and the bounds in which it is."""

    part: float
    low: float
    high: float

    @property
    def is_guess(self) -> bool:
        return self.high > GUESS_RATIO * self.low


def reading_of_plan(work: Work, plan: QueryPlan, node: PlanNode) -> Reading | None:
    """The part of the buffers that the plan counted at this node, of what a call visits: a twin may have fewer rows.

    None where the plan counted no buffers.
    """
    counted, whole = plan.nodes[0].buffers, max(work.buffers_per_call, 1.0)
    if node.buffers is None or not counted:
        return None
    scans = 1.0 if node.kind.startswith("Parallel") else max(node.loops or 1.0, 1.0)
    return Reading(whole * min(node.buffers / counted, 1.0), whole, scans)


def reading_of_calls(case: Case, work: Work, table: Table, scans: float = 1.0) -> Reading:
    """By counters: each scan visits all pages of the table, as far as the statement visits so many."""
    whole = max(work.buffers_per_call, 1.0)
    return Reading(min(scans * pages_of(case, table), whole), whole, scans)


def saving_by_lookups(
    case: Case, table: Table, reading: Reading, *, rows: tuple[float, float], column: str, lookups: float | None = None
) -> Saving:
    """With an index that begins with ``column`` in place of the scans; ``rows`` are the fewest and the most of a call.

    Without ``lookups`` there is one for each scan.
    """
    times = max(reading.scans if lookups is None else lookups, 1.0)
    parts = [
        max(0.0, reading.scanned - times * buffers_of_rows(case, table, found / times, column)) / reading.whole
        for found in rows
    ]
    high, low = max(parts), min(parts)
    return Saving(part=(low + high) / 2.0, low=low, high=high)


def saving_by_index(case: Case, access: TableAccess, column: str) -> Saving:
    """Of a statement that reads a whole table, were it to take the index that begins with this column."""
    reading = reading_of_calls(case, access.work, access.table)
    return saving_by_lookups(case, access.table, reading, rows=rows_wanted(case, access, (column,)), column=column)


def returns_all(access: TableAccess) -> bool:
    """Whether the statement is on one table and returns, or changes, every row that it finds."""
    shape = access.shape
    if shape is None or access.body is not None or not shape.returns_what_it_reads:
        return False
    return access.level.sources == 1 and len(shape.levels) == 1


def rows_wanted(case: Case, access: TableAccess, columns: tuple[str, ...]) -> tuple[float, float]:
    """The fewest and the most rows that values of these columns find in a call."""
    live, returned = access.table.live, max(access.work.rows_per_call, 1.0)
    level = access.level
    if access.body is None and level.has_limit and (level.ordered_by or not level.has_order) and level.sources == 1:
        # An index for the order as well stops at the last row that is asked for.
        return returned, returned
    if returns_all(access) and {comparison.column for comparison in access.comparisons} <= set(columns):
        return returned, returned
    usual = [fraction_equal(case, access.table, column) for column in columns]
    common = [fraction_common(case, access.table, column) for column in columns]
    fewest, most = live, live * min((one for one in common if one is not None), default=1.0)
    for fraction in usual:
        fewest *= 1.0 if fraction is None else fraction
    low = max(1.0, min(fewest, most))
    return low, max(low, most)


def together(savings: Iterable[Saving]) -> Saving:
    """Of several scans of one statement."""
    found = tuple(savings)
    return Saving(*(min(1.0, sum(getattr(saving, name) for saving in found)) for name in ("part", "low", "high")))
