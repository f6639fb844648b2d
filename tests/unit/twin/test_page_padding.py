"""Which tables are padded by a fill factor, and which ones by empty pages behind their rows."""

from __future__ import annotations

import pytest

from pgclinic.model.twin import TwinTable
from pgclinic.twin.page_padding import Density, has_full_pages
from pgclinic.twin.synthesise import TableRows

#: 50 rows in each page.
DENSE = Density(rows=1000, pages=20)


@pytest.mark.parametrize(
    ("density", "rows", "pages", "fillfactor"),
    [
        (DENSE, 5000, 200.0, 50),
        (DENSE, 5000, 102.0, None),
        (DENSE, 5000, 90.0, None),
        (DENSE, 5000, 10_000.0, 10),
        (Density(rows=100, pages=2), 100, 40.0, None),
        (Density(rows=0, pages=0), 0, 40.0, None),
    ],
)
def test_a_fill_factor_spreads_rows_over_pages(
    density: Density, rows: int, pages: float, fillfactor: int | None
) -> None:
    assert density.fillfactor_for(rows, pages) == fillfactor


@pytest.mark.parametrize(
    ("density", "count", "pages", "dead_rows", "fillfactor", "full"),
    [
        (DENSE, 5000, 100.0, 0, 100, True),
        # A little wider than here.
        (DENSE, 5000, 108.0, 0, 100, True),
        (DENSE, 5000, 130.0, 0, 100, False),
        # Updates leave gaps that are filled again.
        (DENSE, 5000, 100.0, 70, 100, False),
        (DENSE, 5000, 100.0, 0, 80, False),
        # Few rows in many pages are bloat, however small the table is.
        (Density(rows=100, pages=1), 100, 40.0, 0, 100, False),
        (Density(rows=100, pages=1), 100, 1.0, 0, 100, True),
        (Density(rows=0, pages=0), 100, 0.0, 0, 100, True),
    ],
)
def test_full_pages_are_those_of_a_table_that_is_inserted_into(
    density: Density, count: int, pages: float, dead_rows: int, fillfactor: int, *, full: bool
) -> None:
    table = TwinTable(name="public.t", columns=(), dead_rows=dead_rows, fillfactor=fillfactor)
    rows = TableRows(position=0, table=table, columns=("id",), scale=1.0)
    assert has_full_pages(rows, density, count, pages) is full
