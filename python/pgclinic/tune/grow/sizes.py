"""Which twins are built: sizes that double, the largest that budget and disk allow. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pgclinic.model.grow import SizeStatus, TwinSize
from pgclinic.model.twin import Twin
from pgclinic.twin.grown import GrowthPlan, table_rows

#: More says little that a target of ten times the rows needs, and takes as long as all smaller ones together.
LARGEST = 8.0
#: So many sizes, each twice the one before, or the second number where there is no time for more.
COUNTS = (4, 3)
SMALLEST = 1 / 64
#: Rows that are made, loaded and indexed in a second, until a twin of this database has shown it.
ROWS_PER_S = 30_000.0
#: What a twin takes beside its rows: a cluster, its schema, a copy, a server; and what one takes that is there already.
STARTED_S, READY_S = 4.0, 1.0
#: Of the budget, for building; the rest is for the statements.
BUILD_SHARE = 0.6
#: A template and the copy that a server runs on, and WAL beside them.
COPIES = 2.2
PAGE_BYTES = 8192


def estimated(
    twin: Twin, plan: GrowthPlan, size: float, rows_per_s: float = ROWS_PER_S, *, is_built: bool = False
) -> TwinSize:
    """What a twin of this size will have, before it is built; ``is_built`` if an earlier command has done that."""
    rows = table_rows(twin)
    whole = sum(amount * (size if name in plan.growing else 1.0) for name, amount in rows.items())
    pages = 0.0
    for table in twin.tables:
        own = (table.pages_now or table.pages) + sum(index.pages_now or index.pages for index in table.indexes)
        pages += (own + table.toast_bytes / PAGE_BYTES) * (size if table.name in plan.growing else 1.0)
    return TwinSize(
        size=size,
        status=SizeStatus.BUDGET,
        estimated_rows=round(whole),
        estimated_bytes=round(pages * PAGE_BYTES),
        estimated_s=READY_S if is_built else STARTED_S + whole / rows_per_s,
    )


def planned_sizes(
    twin: Twin,
    plan: GrowthPlan,
    *,
    to: float,
    budget_s: float,
    free_bytes: float,
    largest: float = LARGEST,
    is_built: Callable[[float], bool] = lambda _: False,
) -> tuple[TwinSize, ...]:
    """The twins in the order in which they are built: that at which values are found first, then the smaller ones.

    The largest is the first power of two from ``to`` on, ``largest`` at most, and smaller where building all of them
    would take more than its part of ``budget_s``, or the disk has no room. There is always one plan: the least one is
    tried even if it is estimated not to fit.
    """
    top = min(largest, 2.0 ** math.ceil(math.log2(to))) if to > 1 else 1.0
    sizes: list[TwinSize] = []
    while top / 2 ** (COUNTS[0] - 1) >= SMALLEST:
        # Three that do not have size 1 among them would leave out the original's.
        for count in (one for one in COUNTS if top / 2 ** (one - 1) <= 1.0):
            each = (top / 2**step for step in range(count))
            sizes = [estimated(twin, plan, size, is_built=is_built(size)) for size in each]
            takes_s = sum(one.estimated_s for one in sizes)
            takes_bytes = COPIES * sum(one.estimated_bytes for one in sizes)
            if takes_s <= BUILD_SHARE * budget_s and takes_bytes <= free_bytes:
                return _in_order(sizes)
        top /= 2
    return _in_order(sizes)


def _in_order(sizes: Sequence[TwinSize]) -> tuple[TwinSize, ...]:
    first = min(sizes, key=lambda one: (abs(math.log2(one.size)), one.size))
    return (first, *sorted((one for one in sizes if one is not first), key=lambda one: one.size))
