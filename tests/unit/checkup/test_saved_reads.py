"""What an index saves of a statement's time, against figures that were worked out by hand."""

from __future__ import annotations

import pytest

from fixtures.made_case import case, column, counted, index, table, table_counters
from pgclinic.checkup.case import Case
from pgclinic.checkup.lookup_cost import buffers_of_rows, clean_buffers
from pgclinic.checkup.saved_reads import (
    Reading,
    Saving,
    reading_of_calls,
    reading_of_plan,
    rows_wanted,
    saving_by_index,
    saving_by_lookups,
    together,
)
from pgclinic.checkup.table_access import accesses
from pgclinic.checkup.workload import workload
from pgclinic.model.query_plan import PlanNode, PlanSource, QueryPlan

ROWS, PAGES = 100_000, 1_000


def of(text: str, *, buffers: float = 1_000, rows: float = 1.0, correlation: float = 0.0) -> Case:
    """Of a table with a hundred rows on each page: 1,000 values of k, of which one has a tenth of the rows."""
    return case(
        statements=((text, counted(1, calls=100, buffers=buffers, rows=rows)),),
        tables=(table(1, "t", PAGES),),
        counters=(table_counters(1, ROWS, 100),),
        columns=(
            column("t", "k", 1_000, top=0.1, correlation=correlation),
            column("t", "j", 100, top=0.02),
        ),
    )


BY_K = of("select v from t where k = $1", rows=100)


def test_rows_that_are_spread_cost_a_page_each_and_those_in_order_do_not() -> None:
    """100 rows of 1,000 pages: 2 P r / (2 P + r) = 95.2 pages where they are spread, one where they are in order."""
    spread, close = BY_K, of("select v from t where k = $1", correlation=1.0)
    descent = clean_buffers(spread.tables[0]) - 1.0
    found = [buffers_of_rows(one, one.tables[0], 100.0, "k") - descent for one in (spread, close)]
    assert found == pytest.approx([95.2 + 100 / 360, 1.0 + 100 / 360], abs=0.1)
    # Never more than there are.
    assert buffers_of_rows(spread, spread.tables[0], 10.0 * ROWS, "k") < PAGES + 10.0 * ROWS / 360 + descent + 1


def test_a_statement_that_returns_what_it_finds_has_its_rows_counted() -> None:
    (access,) = accesses(BY_K)
    assert rows_wanted(BY_K, access, ("k",)) == (100.0, 100.0)
    saving = saving_by_index(BY_K, access, "k")
    assert saving.low == saving.part == saving.high == pytest.approx(0.9, abs=0.01)
    assert not saving.is_guess


def test_one_that_counts_them_may_have_asked_for_the_most_common_value() -> None:
    """100 rows, or 10,000 where every page has some."""
    made = of("select count(*) from t where k = $1")
    (access,) = accesses(made)
    assert rows_wanted(made, access, ("k",)) == (pytest.approx(100.0), pytest.approx(10_000.0))
    saving = saving_by_index(made, access, "k")
    # 10,000 spread rows are on all pages, 100 on a tenth of them.
    assert (saving.low, saving.high) == (0.0, pytest.approx(0.9, abs=0.01))
    assert saving.low < saving.part < saving.high
    assert saving.is_guess


def test_of_rows_with_a_limit_only_those_are_wanted() -> None:
    made = of("select v from t where k = $1 order by j limit 5", rows=5)
    (access,) = accesses(made)
    assert rows_wanted(made, access, ("k", "j")) == (5.0, 5.0)


def test_a_scan_is_the_part_of_the_buffers_that_its_plan_counted() -> None:
    """The twin that it ran on has a tenth of the rows."""
    scan = PlanNode(depth=1, kind="Seq Scan", rows_planned=1.0, relation="t", rows=1.0, loops=2.0, buffers=60.0)
    top = PlanNode(depth=0, kind="Nested Loop", rows_planned=1.0, rows=1.0, loops=1.0, buffers=80.0)
    (work,) = workload(BY_K)
    plan = QueryPlan(source=PlanSource.TWIN, nodes=(top, scan), query_id=1)
    assert reading_of_plan(work, plan, scan) == Reading(scanned=750.0, whole=1_000.0, scans=2.0)
    uncounted = QueryPlan(source=PlanSource.GENERIC, nodes=(PlanNode(depth=0, kind="Seq Scan", rows_planned=1.0),))
    assert reading_of_plan(work, uncounted, uncounted.nodes[0]) is None


def test_scans_visit_no_more_than_the_statement_does() -> None:
    made = of("select v from t where k = $1", buffers=2_500)
    (work,) = workload(made)
    assert reading_of_calls(made, work, made.tables[0]) == Reading(1_000.0, 2_500.0)
    assert reading_of_calls(made, work, made.tables[0], 4.0) == Reading(2_500.0, 2_500.0, 4.0)


def test_lookups_that_cost_more_than_the_scan_save_nothing() -> None:
    reading = Reading(scanned=1_000.0, whole=1_000.0)
    rows = (5_000.0, 5_000.0)
    few = saving_by_lookups(BY_K, BY_K.tables[0], reading, rows=rows, column="k", lookups=5_000.0)
    assert few == Saving(0.0, 0.0, 0.0)


def test_scans_of_one_statement_are_added_up_to_all_of_it() -> None:
    found = together((Saving(0.5, 0.4, 0.6), Saving(0.3, 0.2, 0.7)))
    assert (found.part, found.low, found.high) == pytest.approx((0.8, 0.6, 1.0))


def test_an_index_that_is_there_changes_nothing_of_what_the_scan_reads() -> None:
    made = case(
        statements=(("select v from t where k = $1", counted(1, calls=100, buffers=1_000, rows=100)),),
        tables=(table(1, "t", PAGES),),
        counters=(table_counters(1, ROWS, 100),),
        columns=(column("t", "k", 1_000),),
        indexes=(index(5, 1, "k"),),
    )
    (access,) = accesses(made)
    (without,) = accesses(BY_K)
    assert saving_by_index(made, access, "k") == saving_by_index(BY_K, without, "k")
