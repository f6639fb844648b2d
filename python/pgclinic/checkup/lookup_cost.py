"""What finding rows by an index costs in buffers, on a table without dead rows."""

from __future__ import annotations

import math

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.table_access import pages_of

#: Entries of an integer key in a leaf page, and children of a page above: 8 kB, 16 bytes an entry and 4 a pointer.
_ENTRIES_PER_PAGE = 360


def clean_buffers(table: Table) -> float:
    """What a lookup by key visits without dead rows: a page of each level of the index, and one of the table."""
    leaves = max(table.live / _ENTRIES_PER_PAGE, 1.0)
    levels = 1 + math.ceil(math.log(leaves) / math.log(_ENTRIES_PER_PAGE)) if leaves > 1 else 1
    return float(levels + 1)


def buffers_of_rows(case: Case, table: Table, rows: float, column: str | None = None) -> float:
    """What one lookup visits that finds so many rows: the descent, leaf pages, and the pages of the table with them.

    Rows in the order of ``column`` stand beside each other, others are spread over the pages: then those visited are
    2 P r / (2 P + r) of P pages for r rows, as the planner has it (Mackert and Lohman 1989; index_pages_fetched).
    Between both the square of the correlation decides, as in cost_index.
    """
    pages = float(max(pages_of(case, table), 1))
    spread = min(2.0 * pages * rows / (2.0 * pages + rows), pages)
    close = min(math.ceil(rows * pages / max(table.live, 1.0)), spread)
    known = case.columns_by_table.get((table.state.schema, table.state.name), {}).get(column or "")
    order = (known.correlation or 0.0) ** 2 if known is not None else 0.0
    return clean_buffers(table) - 1.0 + rows / _ENTRIES_PER_PAGE + order * close + (1.0 - order) * spread
