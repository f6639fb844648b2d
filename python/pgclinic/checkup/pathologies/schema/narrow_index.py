"""Statements that an index serves by its leading columns alone: it finds many rows, and most of them are not wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from pgclinic.checkup.case import Case, Index
from pgclinic.checkup.saved_reads import returns_all
from pgclinic.checkup.table_access import (
    FRACTION_MAX,
    MORE_MAX,
    PAGES_MIN,
    TableAccess,
    fraction_equal,
    pages_of,
    reads_whole,
    worth_a_place,
)

#: Fewer rows are on a few pages, wherever they are.
_ROWS_MIN = 500.0
#: A call that visits fewer of the pages that the rows found need at least found its rows in another way.
_VISITED_MIN = 0.5


@dataclass(frozen=True)
class NarrowIndex:
    """``columns`` are those that would find the rows, the ``leading`` ones of the index first.

    Rows of one call: ``found`` by the leading columns, ``wanted`` by all. ``returned``: those wanted were counted.
    """

    index: Index
    leading: tuple[str, ...]
    columns: tuple[str, ...]
    found: float
    wanted: float
    returned: bool


def narrow_index(case: Case, access: TableAccess) -> NarrowIndex | None:
    """By the statistics of the columns, the rows that are returned, and the buffers that a call visits.

    None where as many rows are returned as the index finds: then the other columns go with the leading ones.
    """
    equal = access.equal_columns()
    fractions = {name: known for name in equal if (known := fraction_equal(case, access.table, name)) is not None}
    best = min(
        _leading(access.table.indexes, equal), key=lambda one: _rows(case, access, one[1], fractions), default=None
    )
    if best is None:
        return None
    index, leading = best
    found = _rows(case, access, leading, fractions)
    others = [name for name in fractions if name not in leading]
    more = worth_a_place(case, access.table, others, found, MORE_MAX)
    wanted, returned = _wanted(access, found * prod(fractions[name] for name in more))
    if not more or found < _ROWS_MIN or wanted > FRACTION_MAX * found or not _is_visited(case, access, found):
        return None
    if reads_whole(case, access) and found <= FRACTION_MAX * access.table.live:
        # The leading columns find few rows, and the planner reads the table: another illness.
        return None
    return NarrowIndex(index, leading, (*leading, *more), found, wanted, returned)


def _leading(indexes: Iterable[Index], equal: tuple[str, ...]) -> list[tuple[Index, tuple[str, ...]]]:
    """Indexes that begin with columns of these, each with those; nothing if one has all, or finds a single row."""
    found: list[tuple[Index, tuple[str, ...]]] = []
    for index in indexes:
        state = index.state
        if state.method != "btree" or not state.is_valid or not state.is_ready or state.has_expressions:
            continue
        count = next((at for at, name in enumerate(state.columns) if name not in equal), len(state.columns))
        leading = state.columns[:count]
        if set(leading) == set(equal) or (state.is_unique and count == len(state.columns)):
            return []
        if leading and not state.is_partial:
            found.append((index, leading))
    return found


def _rows(case: Case, access: TableAccess, columns: tuple[str, ...], fractions: dict[str, float]) -> float:
    """What values of these columns find; all rows where nothing is known of one."""
    return access.table.live * prod(fractions.get(name, 1.0) for name in columns)


def _wanted(access: TableAccess, by_statistics: float) -> tuple[float, bool]:
    """Of a statement on one table that returns every row it finds those that were returned."""
    if returns_all(access):
        return access.work.rows_per_call, True
    return max(by_statistics, 1.0), False


def _is_visited(case: Case, access: TableAccess, found: float) -> bool:
    """Whether a call visits as many pages as the rows found fill at least, and more than a lookup would."""
    fewest = found * pages_of(case, access.table) / max(access.table.live, 1.0)
    return access.work.buffers_per_call >= max(PAGES_MIN, _VISITED_MIN * fewest)
