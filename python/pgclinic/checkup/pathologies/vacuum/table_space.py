"""How large a table or an index would be if it were written anew: by its rows and the width of its columns."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import rows_of
from pgclinic.model.snapshot import ColumnSummary

#: Of space that is free or dead, a thousand pages: less does not matter to any cache, and a scan reads them from memory
#: in a few milliseconds.
FREE_BYTES_MIN = 1_000 * 8_192
#: Cache, disk and every base backup hold a gigabyte of nothing.
FREE_BYTES_WARNING = 1 << 30
_PAGE_HEADER = 24
_ITEM = 4
_ROW_HEADER = 24
_ENTRY_HEADER = 8
#: What a B-tree page keeps at its end.
_BTREE_SPECIAL = 16
#: Pages of a B-tree that took its keys in any order are full to ln 2 at worst; what is emptier was emptied.
_BTREE_FILL = 0.69
#: Chunks of a TOAST table are made so that four fill a page.
_CHUNKS_A_PAGE = 4


def columns_of(case: Case, table: Table) -> tuple[ColumnSummary, ...]:
    """What ANALYZE found of the table's own rows."""
    return tuple(case.columns_by_table.get((table.state.schema, table.state.name), {}).values())


def row_bytes(case: Case, table: Table) -> float | None:
    """Of one row with its line pointer, rather too much than too little; None where too few columns are known.

    Dropped columns are counted among a table's columns and have no width.
    """
    columns = columns_of(case, table)
    if not columns or 2 * len(columns) < table.state.columns:
        return None
    bitmap = ceil(table.state.columns / 8) if any(column.null_share for column in columns) else 0
    return _ITEM + _aligned(_ROW_HEADER + bitmap) + _aligned(_data_bytes(columns))


def written_anew_bytes(case: Case, table: Table) -> float | None:
    """The main fork of a table without dead rows and free space but what its fillfactor asks for."""
    each = row_bytes(case, table)
    if each is None:
        return None
    block = case.snapshot.server.block_bytes
    share = float(table.option("fillfactor") or 100) / 100
    rows_a_page = max((block - _PAGE_HEADER) * share // each, 1.0)
    return ceil(rows_of(table) / rows_a_page) * block


def index_written_anew_bytes(case: Case, table: Table, index: Index) -> float | None:
    """The same of a B-tree on columns; None for any other index."""
    state = index.state
    if state.method != "btree" or state.has_expressions or state.is_partial or not state.is_valid:
        return None
    known = {one.column: one for one in columns_of(case, table)}
    columns = [known.get(name) for name in (*state.columns, *state.included)]
    found = [column for column in columns if column is not None]
    if not found or len(found) < len(columns):
        return None
    bitmap = 8 if any(one.null_share for one in found) else 0
    each = _ITEM + _ENTRY_HEADER + bitmap + _aligned(_data_bytes(found))
    block = case.snapshot.server.block_bytes
    fill = min(float(_option(state.options, "fillfactor") or 90) / 100, _BTREE_FILL)
    entries_a_page = max((block - _PAGE_HEADER - _BTREE_SPECIAL) * fill // each, 1.0)
    # The meta page, and the levels above the leaves.
    leaves = ceil(max(rows_of(table), state.rows) / entries_a_page)
    return (leaves + ceil(leaves / 50) + 2) * block


def toast_written_anew_bytes(case: Case, table: Table) -> float | None:
    """The same of a TOAST table, by its live chunks: as counted or as VACUUM found them; None before the first."""
    if table.state.toast_rows is None:
        return None
    counted = table.counters.toast_live if table.counters is not None else None
    chunks = max(table.state.toast_rows, counted or 0)
    return ceil(chunks / _CHUNKS_A_PAGE) * case.snapshot.server.block_bytes


def _data_bytes(columns: Iterable[ColumnSummary]) -> float:
    return sum((1.0 - column.null_share) * _padded(column.width) for column in columns)


def _padded(width: int) -> int:
    """With as much padding in front of the next column as there can be."""
    return 4 if width <= 4 else _aligned(width)


def _aligned(size: float) -> int:
    return ceil(size / 8) * 8


def _option(options: Iterable[str], name: str) -> str | None:
    return next((option.partition("=")[2] for option in options if option.partition("=")[0] == name), None)
