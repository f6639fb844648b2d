"""Figures that no server can have, such as NaN rows: where rows of a server and files of strangers enter, they leave.

A damaged catalog has them, and so has a server that lies. A figure is impossible if it is not finite, larger than any
server can count to, or negative where nothing is. What one figure says is unknown then; the rest is kept.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec.structs import fields, replace

from pgclinic.model.snapshot import ColumnSummary, IndexState, TableState
from pgclinic.model.twin import (
    ColumnStatistics,
    Gap,
    HorizonHold,
    JointStatistics,
    Twin,
    TwinColumn,
    TwinIndex,
    TwinStatement,
    TwinTable,
    TwinWorkload,
)

#: What the gap that names such figures is called.
IMPOSSIBLE = "impossible figures"
#: More than 2^32 pages of rows without columns, in a thousand partitions; in ms it is 31,000 years.
FIGURE_MAX = 1e15
#: The largest count of bigint.
COUNT_MAX = 2**63 - 1
#: The end of the year 9999, which is the last one that has a date in Python.
_EPOCH_MAX_S = 253_402_300_799.0
PAGES_MAX = 2**32 - 2
#: A row takes 28 bytes of a page of 32 kB at least; some pages came while the server was read.
_ROWS_PER_PAGE_MAX, _NEW_PAGES = 1_200, 1_000
_VALUE_BYTES_MAX = 2**30
#: Shares and their sums are float4, rounded.
_ROUNDED = 1e-3
#: Identities and values of the user; all others count something.
_SIGNED = frozenset(
    ("query_id", "system_identifier", "advisory_key", "increment", "value_min", "value_max", "last_value")
)
#: Differences of what is read at two moments; safe_wal_size is below zero where a slot is about to be lost.
_DIFFERENCES = ("_age", "_s", "wal_kept_bytes", "wal_left_bytes", "unsent_bytes", "unflushed_bytes", "unreplayed_bytes")
#: Of which -1 has a meaning: the relpages of an analyzed partitioned table and the reltuples of an index that was made
#: on an empty one, both since 14.
_MINUS_ONE = frozenset(((TableState, "pages"), (IndexState, "rows")))
_NAMED = 3
_LIMITS: dict[type[Any], tuple[tuple[str, float, float, float | None], ...]] = {}


def is_possible(figure: float, largest: float = FIGURE_MAX) -> bool:
    """Whether something can be counted or measured so; NaN cannot."""
    return 0 <= figure <= largest


def possible_rows(rows: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, str]]:
    """Records of a snapshot without impossible figures, and those by field, each with the first value that it had.

    Such a figure is None where a record allows that, else 0, as of a counter that has not counted. Statistics of a
    column that has one are left out.
    """
    if not rows or not hasattr(rows[0], "__struct_fields__"):
        return rows, {}
    limits = _limits(type(rows[0]))
    if not limits:
        return rows, {}
    read = attrgetter(*(limit[0] for limit in limits), "__class__")
    found: dict[str, str] = {}
    kept: list[Any] = []
    for row in rows:
        changes: dict[str, float | None] = {}
        for (name, low, high, instead), value in zip(limits, read(row), strict=False):
            if value is not None and not low <= value <= high:
                changes[name] = instead
                found.setdefault(name, _shown(value))
        if not changes:
            kept.append(row)
        elif not isinstance(row, ColumnSummary):
            kept.append(replace(row, **changes))
    return tuple(kept), found


def impossible_gap(found: dict[str, dict[str, str]]) -> Gap | None:
    """One gap for the fields of all parts of a snapshot that had such figures; None where there were none."""
    words = [f"{part}.{name} {value}" for part, names in found.items() for name, value in names.items()]
    return Gap(what=IMPOSSIBLE, problem=f"taken as unknown: {_few(words)}") if words else None


def _limits(kind: type[Any]) -> tuple[tuple[str, float, float, float | None], ...]:
    """Of each field that is a number: its name, the least, the largest, and what stands for an impossible one."""
    if kind in _LIMITS:
        return _LIMITS[kind]
    hints = get_type_hints(kind)
    limits: list[tuple[str, float, float, float | None]] = []
    for field in fields(kind):
        hint = hints[field.name]
        kinds = set(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else {hint}
        if not kinds & {int, float} or bool in kinds:
            continue
        instead = None if type(None) in kinds else 0
        low, high = 0.0, COUNT_MAX if float not in kinds else FIGURE_MAX
        if field.name in _SIGNED:
            low = -COUNT_MAX - 1
        elif field.name == "connections_max" or (kind, field.name) in _MINUS_ONE:
            low = -1.0  # no limit, or unknown
        elif field.name == "correlation":
            low, high = -1.0 - _ROUNDED, 1.0 + _ROUNDED
        elif field.name == "distinct_values":
            low = -1.0 - _ROUNDED
        elif field.name.endswith("_share"):
            high = 1.0 + _ROUNDED
        elif field.name.endswith("epoch_s"):
            high = _EPOCH_MAX_S
        elif field.name.endswith(_DIFFERENCES):
            low = -high
        limits.append((field.name, low, high, instead))
    return _LIMITS.setdefault(kind, tuple(limits))


def without_impossible(twin: Twin) -> Twin:
    """The twin without what cannot be; its gaps name it. Statistics of a column are left out as a whole.

    A table or index has no rows then, as if it was never analyzed, and the pages of its file; a statement with
    impossible counters is left out.
    """
    out = _LeftOut()
    tables = tuple(_table(table, out) for table in twin.tables)
    workload = _workload(twin.workload, out)
    return replace(
        twin,
        tables=tables,
        workload=workload,
        database_bytes=twin.database_bytes if is_possible(twin.database_bytes, COUNT_MAX) else 0,
        holds=tuple(hold for hold in twin.holds if _is_possible_hold(hold)),
        gaps=(*twin.gaps, *out.gaps()),
    )


class _LeftOut:
    """What was found, by what it is about, with the tables that have it."""

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}
        self._tables: dict[str, list[str]] = {}

    def note(self, what: str, problem: str, table: str | None = None) -> None:
        self._words.setdefault(what, []).append(problem)
        if table is not None and table not in self._tables.setdefault(what, []):
            self._tables[what].append(table)

    def gaps(self) -> Iterable[Gap]:
        for what, words in self._words.items():
            problem = f"{len(words)} left out as impossible: {_few(words)}"
            yield Gap(what=what, problem=problem, tables=tuple(self._tables.get(what, ())))


def _few(words: Sequence[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(value: float) -> str:
    if not isinstance(value, float):
        return str(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(f"{value:g}", f"{value:g}")


def _table(table: TwinTable, out: _LeftOut) -> TwinTable:
    pages_now = table.pages_now if is_possible(table.pages_now, PAGES_MAX) else 0
    pages = table.pages if is_possible(table.pages, PAGES_MAX) else pages_now
    # pg_class may say less than the file has, as it is older, but hardly more.
    if pages_now and pages > 2 * pages_now + _NEW_PAGES:
        out.note("sizes", f"relpages {pages}", table.name)
        pages = pages_now
    if pages_now != table.pages_now:
        out.note("sizes", f"{table.pages_now} pages", table.name)
        pages_now = pages
    return replace(
        table,
        columns=tuple(_column(column, table.name, out) for column in table.columns),
        rows=_rows(table, pages_now, out),
        pages=pages,
        pages_now=pages_now,
        all_visible=max(0, min(table.all_visible, max(pages, pages_now))),
        toast_bytes=table.toast_bytes if is_possible(table.toast_bytes) else 0,
        dead_rows=table.dead_rows if is_possible(table.dead_rows) else 0,
        fillfactor=table.fillfactor if 10 <= table.fillfactor <= 100 else 100,
        indexes=tuple(_index(index, table.name, out) for index in table.indexes),
        joint=tuple(one for one in table.joint if _is_kept_joint(one, table.name, out)),
    )


def _rows(table: TwinTable, pages_now: int, out: _LeftOut) -> float | None:
    if table.rows is None:
        return None
    largest = FIGURE_MAX if table.is_partitioned else (pages_now + _NEW_PAGES) * _ROWS_PER_PAGE_MAX
    if is_possible(table.rows, largest):
        return table.rows
    out.note("row counts", f"reltuples {_shown(table.rows)}", table.name)
    return None


def _index(index: TwinIndex, table: str, out: _LeftOut) -> TwinIndex:
    pages_now = index.pages_now if is_possible(index.pages_now, PAGES_MAX) else 0
    pages = index.pages if is_possible(index.pages, PAGES_MAX) else pages_now
    if pages_now and pages > 2 * pages_now + _NEW_PAGES:
        pages = pages_now
    rows = index.rows if is_possible(index.rows) else 0.0
    if (rows, pages, pages_now) != (index.rows, index.pages, index.pages_now):
        out.note("sizes of indexes", f"{index.name} {_shown(index.rows)} rows in {index.pages} pages", table)
    found = tuple(_statistics(one, index.name, table, out) for one in index.statistics)
    return replace(index, pages=pages, pages_now=pages_now or pages, rows=rows, statistics=found if any(found) else ())


def _column(column: TwinColumn, table: str, out: _LeftOut) -> TwinColumn:
    found = _statistics(column.statistics, column.name, table, out)
    return column if found is column.statistics else replace(column, statistics=found)


def _statistics(found: ColumnStatistics | None, name: str, table: str, out: _LeftOut) -> ColumnStatistics | None:
    problem = None if found is None else impossible_statistics(found)
    if problem is not None:
        out.note("statistics", f"{name} {problem}", table)
        return None
    return found


def impossible_statistics(found: ColumnStatistics) -> str | None:
    """The first impossible figure of a column, by its name in pg_stats; None where all are possible."""
    for name, value, is_fine in _figures(found):
        if not is_fine(value):
            return f"{name} {_shown(value)}"
    for name, counted, shares in (
        ("most_common_freqs", len(found.common_values), found.common_shares),
        ("most_common_elem_freqs", len(found.common_elements), found.common_element_shares),
    ):
        if counted != len(shares):
            return f"{name} {len(shares)} of {counted}"
    total = found.null_share + sum(found.common_shares)
    return f"most_common_freqs {total:g} in all" if total > 1.0 + 10 * _ROUNDED else None


def _figures(found: ColumnStatistics) -> Iterable[tuple[str, float, Callable[[float], bool]]]:
    yield "null_frac", found.null_share, _is_share
    yield "avg_width", found.width, lambda width: is_possible(width, _VALUE_BYTES_MAX)
    yield "n_distinct", found.distinct, lambda distinct: -1.0 - _ROUNDED <= distinct <= FIGURE_MAX
    if found.correlation is not None:
        yield "correlation", found.correlation, lambda one: is_possible(abs(one), 1.0 + _ROUNDED)
    if found.range_empty_share is not None:
        yield "range_empty_frac", found.range_empty_share, _is_share
    yield from (("most_common_freqs", share, _is_share) for share in found.common_shares)
    yield from (("most_common_elem_freqs", share, _is_share) for share in found.common_element_shares)
    yield from (("elem_count_histogram", count, is_possible) for count in found.element_counts)


def _is_share(share: float) -> bool:
    return is_possible(share, 1.0 + _ROUNDED)


def _is_kept_joint(found: JointStatistics, table: str, out: _LeftOut) -> bool:
    is_fine = (
        all(_is_share(share) for share in found.common_shares)
        and sum(found.common_shares) <= 1.0 + 10 * _ROUNDED
        and len(found.common_shares) == len(found.common_values)
        and all(is_possible(count) for count in found.distinct.values())
        and all(-1.0 - _ROUNDED <= degree <= 1.0 + _ROUNDED for degree in found.dependencies.values())
    )
    if not is_fine:
        out.note("extended statistics", found.name, table)
    return is_fine


def _workload(workload: TwinWorkload, out: _LeftOut) -> TwinWorkload:
    statements = []
    for statement in workload.statements:
        problem = _impossible_counter(statement)
        if problem is None:
            first = statement.first_seen_s
            is_odd = first is not None and not is_possible(first, _EPOCH_MAX_S)
            statements.append(replace(statement, first_seen_s=None) if is_odd else statement)
        else:
            out.note("statements", problem)
    kept = {statement.query_id for statement in statements}
    since_s, commits, rollbacks = workload.since_s, workload.commits, workload.rollbacks
    return replace(
        workload,
        statements=tuple(statements),
        transactions=tuple(
            one for one in workload.transactions if kept.issuperset(one.query_ids) and is_possible(one.age_s)
        ),
        since_s=since_s if since_s is not None and is_possible(since_s) else None,
        commits=commits if commits is not None and is_possible(commits, COUNT_MAX) else None,
        rollbacks=rollbacks if rollbacks is not None and is_possible(rollbacks, COUNT_MAX) else None,
    )


def _impossible_counter(statement: TwinStatement) -> str | None:
    if not is_possible(statement.total_ms):
        return f"total time {_shown(statement.total_ms)}"
    for name in ("calls", "rows", "blocks_hit", "blocks_read", "blocks_dirtied", "temp_blocks", "wal_bytes"):
        if not is_possible(getattr(statement, name), COUNT_MAX):
            return f"{name} {getattr(statement, name)}"
    return None


def _is_possible_hold(hold: HorizonHold) -> bool:
    return is_possible(abs(hold.began_s)) and is_possible(hold.held_s) and is_possible(hold.age_transactions)
