"""Which figures no server can have, and what stands for them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.bare_twin import bare_twin
from fixtures.made_case import column, counted, made, table, table_counters
from pgclinic.capture.impossible_figures import (
    impossible_gap,
    impossible_statistics,
    possible_rows,
    without_impossible,
)
from pgclinic.model.snapshot import IndexState, SessionState, SlotState
from pgclinic.model.twin import (
    ColumnStatistics,
    HorizonHold,
    JointStatistics,
    TransactionSeen,
    TwinColumn,
    TwinIndex,
    TwinStatement,
    TwinTable,
    TwinWorkload,
)

FINE = ColumnStatistics(
    null_share=0.1,
    width=4,
    distinct=-0.5,
    common_values=("1", "2"),
    common_shares=(0.5, 0.4),
    correlation=-1.0000001,
)
TABLE = TwinTable(
    name="public.t",
    columns=(TwinColumn(name="a", type="integer", base_type="int4", statistics=FINE),),
    rows=1000.0,
    pages=5,
    pages_now=6,
    all_visible=5,
)


def test_a_twin_with_possible_figures_stays_as_it_is() -> None:
    twin = bare_twin([TABLE])
    assert without_impossible(twin) == twin


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"distinct": math.nan}, "n_distinct NaN"),
        ({"distinct": 1e38}, "n_distinct 1e+38"),
        ({"distinct": -5.0}, "n_distinct -5"),
        ({"null_share": math.inf}, "null_frac Infinity"),
        ({"null_share": -0.5}, "null_frac -0.5"),
        ({"width": -1}, "avg_width -1"),
        ({"width": 2**31 - 1}, "avg_width 2147483647"),
        ({"correlation": math.nan}, "correlation NaN"),
        ({"correlation": 1.5}, "correlation 1.5"),
        ({"common_shares": (math.nan, 0.4)}, "most_common_freqs NaN"),
        ({"common_shares": (0.9, 0.9)}, "most_common_freqs 1.9 in all"),
        ({"common_shares": (0.9,)}, "most_common_freqs 1 of 2"),
        ({"common_elements": ("x",), "common_element_shares": (-math.inf,)}, "most_common_elem_freqs -Infinity"),
        ({"element_counts": (1.0, math.nan)}, "elem_count_histogram NaN"),
        ({"range_empty_share": 2.0}, "range_empty_frac 2"),
        ({}, None),
    ],
)
def test_statistics_of_a_column(changes: dict[str, Any], problem: str | None) -> None:
    found = replace(FINE, **changes)
    assert impossible_statistics(found) == problem
    twin = without_impossible(bare_twin([replace(TABLE, columns=(replace(TABLE.columns[0], statistics=found),))]))
    assert twin.tables[0].columns[0].statistics == (found if problem is None else None)
    assert [gap.problem for gap in twin.gaps] == ([] if problem is None else [f"1 left out as impossible: a {problem}"])


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"rows": math.nan}, {"rows": None}),
        ({"rows": 1e12}, {"rows": None}),
        ({"rows": 1e12, "is_partitioned": True, "pages": 0, "pages_now": 0}, {"rows": 1e12}),
        ({"pages": 2**31 - 1}, {"pages": 6}),
        ({"pages": 300_000, "pages_now": 200_000}, {"pages": 300_000}),
        ({"pages_now": 2**62}, {"pages_now": 5}),
        ({"pages_now": -1, "pages": -1}, {"pages_now": 0, "pages": 0, "all_visible": 0}),
        ({"all_visible": 2**31 - 1}, {"all_visible": 6}),
        ({"dead_rows": -5, "toast_bytes": -5, "fillfactor": -5}, {"dead_rows": 0, "toast_bytes": 0, "fillfactor": 100}),
    ],
)
def test_sizes_of_a_table(changes: dict[str, Any], kept: dict[str, Any]) -> None:
    (found,) = without_impossible(bare_twin([replace(TABLE, **changes)])).tables
    assert {name: getattr(found, name) for name in kept} == kept


def test_an_index_keeps_its_file_and_loses_impossible_rows_and_statistics() -> None:
    index = TwinIndex(
        name="i", method="btree", keys=("a", "lower(b)"), pages=-1, pages_now=7, rows=math.inf,
        statistics=(None, replace(FINE, distinct=math.nan)),
    )  # fmt: skip
    twin = without_impossible(bare_twin([replace(TABLE, indexes=(index,))]))
    (found,) = twin.tables[0].indexes
    assert (found.rows, found.pages, found.pages_now, found.statistics) == (0.0, 7, 7, ())
    assert {gap.what: gap.tables for gap in twin.gaps} == {
        "sizes of indexes": ("public.t",),
        "statistics": ("public.t",),
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"common_values": (("1",),), "common_shares": (math.nan,)},
        {"common_values": (("1",),)},
        {"distinct": {"a, b": -1.0}},
        {"dependencies": {"a => b": 1e38}},
    ],
)
def test_extended_statistics(changes: dict[str, Any]) -> None:
    fine = JointStatistics(name="public.s", columns=("a", "b"), distinct={"a, b": 4.0}, dependencies={"a => b": 1.0})
    odd = replace(fine, **changes)
    assert without_impossible(bare_twin([replace(TABLE, joint=(fine, odd))])).tables[0].joint == (fine,)


def test_statements_with_impossible_counters_are_left_out_and_transactions_with_them() -> None:
    fine = TwinStatement(query_id=1, text="select 1", calls=5, rows=5, total_ms=1.0)
    workload = TwinWorkload(
        statements=(
            fine,
            replace(fine, query_id=2, total_ms=math.nan),
            replace(fine, query_id=3, calls=-5),
            replace(fine, query_id=4, wal_bytes=2**63),
            replace(fine, query_id=5, first_seen_s=math.inf),
        ),
        transactions=(TransactionSeen(query_ids=(1, 5), seen=2), TransactionSeen(query_ids=(1, 2), seen=2)),
        since_s=-math.inf,
        commits=-1,
        rollbacks=3,
    )
    hold = HorizonHold(kind="session", began_s=-3.0, held_s=5.0)
    twin = replace(bare_twin([]), workload=workload, holds=(hold, replace(hold, held_s=math.inf)), database_bytes=-1)
    found = without_impossible(twin)
    assert found.workload == replace(
        workload,
        statements=(fine, replace(fine, query_id=5)),
        transactions=workload.transactions[:1],
        since_s=None,
        commits=None,
    )
    assert (found.holds, found.database_bytes) == ((hold,), 0)
    assert [gap.problem for gap in found.gaps] == [
        "3 left out as impossible: total time NaN, calls -5, wal_bytes 9223372036854775808"
    ]


def test_a_figure_of_a_snapshot_is_none_where_that_is_allowed_else_zero() -> None:
    rows, found = possible_rows((replace(table(1, "t", 10), rows=1e38, pages=-5), table(2, "u", 10)))
    assert [(row.rows, row.pages) for row in rows] == [(None, 0), (table(2, "u", 10).rows, 10)]
    assert found == {"rows": "1e+38", "pages": "-5"}
    rows, found = possible_rows((replace(table_counters(1, 5, 5), dead=-1, last_vacuum_epoch_s=math.inf),))
    assert (rows[0].dead, rows[0].last_vacuum_epoch_s, rows[0].live) == (0, None, 5)
    assert found.keys() == {"dead", "last_vacuum_epoch_s"}


def test_what_may_be_negative_stays() -> None:
    rows = [
        replace(counted(-7, calls=1, buffers=1.0)),
        column("t", "a", -0.5, correlation=-1.0),
        # An analyzed partitioned table, an index made on an empty table, a slot about to be lost, a session that began
        # its transaction a moment after the others were read.
        replace(table(1, "t", 0), pages=-1),
        replace(made(IndexState, oid=1, table_oid=2, name="i"), rows=-1.0),
        replace(made(SlotState, name="s"), wal_left_bytes=-5_000),
        replace(made(SessionState, pid=1), xmin_age=-3, transaction_s=-0.002),
    ]
    for row in rows:
        assert possible_rows((row,)) == ((row,), {})


def test_statistics_of_a_column_in_a_snapshot_are_left_out_as_a_whole() -> None:
    fine, odd = column("t", "a", 5.0), column("t", "b", math.nan)
    assert possible_rows((odd, fine)) == ((fine,), {"distinct_values": "NaN"})


def test_the_gap_names_the_first_and_counts_the_rest() -> None:
    found = {"tables": {"rows": "NaN", "pages": "-5"}, "statements": {"calls": "-5", "total_ms": "NaN"}}
    gap = impossible_gap(found)
    assert gap is not None
    assert gap.problem == "taken as unknown: tables.rows NaN, tables.pages -5, statements.calls -5 and 1 more"
    assert impossible_gap({}) is None
