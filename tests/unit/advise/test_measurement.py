"""From executions to shares of the server time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.advised import SEEN
from pgclinic.advise.measurement import WeighedStatement, saved_share, served, time_ratio, write_cost

READ = WeighedStatement(1, "select 1", share=0.4, calls=10.0)
WRITE = WeighedStatement(2, "insert", share=0.1, calls=100.0)
BOTH = {1: READ, 2: WRITE}
INDEXED = replace(SEEN, signature=("c", "d"), used=frozenset(("i",)), times_ms=(0.5, 0.5), buffers=(4.0, 4.0))
INSERT = replace(SEEN, target="orders", times_ms=(1.0, 1.0), buffers=(10.0, 10.0), wal_bytes=(200.0, 200.0))


def slower(factor: float, work: float = 2.0) -> object:
    return replace(INSERT, times_ms=(factor, factor), buffers=(10 * work, 10 * work), wal_bytes=(200 * work,) * 2)


def test_a_read_with_the_same_plans_takes_the_same_time() -> None:
    assert time_ratio(SEEN, replace(SEEN, times_ms=(8.0, 12.0))) == 1.0


def test_a_read_with_another_plan_takes_what_was_measured() -> None:
    assert time_ratio(SEEN, INDEXED) == pytest.approx(0.1)
    # Within what single executions differ by.
    assert time_ratio(SEEN, replace(INDEXED, times_ms=(4.1, 6.1))) == 1.0


def test_sets_of_values_are_compared_that_both_were_executed_with() -> None:
    once = replace(SEEN, times_ms=(4.0,))
    assert time_ratio(once, replace(INDEXED, times_ms=(2.0, 9.0))) == pytest.approx(0.5)


@pytest.mark.parametrize(("factor", "expected"), [(1.3, 1.3), (2.5, 2.0), (0.9, 1.0), (0.2, 0.2), (9.0, 9.0)])
def test_a_write_with_the_same_plan_takes_longer_by_no_more_than_it_works(factor: float, expected: float) -> None:
    assert time_ratio(INSERT, slower(factor)) == pytest.approx(expected)  # type: ignore[arg-type]


def test_the_saving_is_weighted_by_the_time_on_the_original() -> None:
    before = {1: SEEN, 2: INSERT}
    after = {1: INDEXED, 2: slower(1.5)}
    assert saved_share(BOTH, (before, before), after) == pytest.approx(0.4 * 0.9 - 0.1 * 0.5)  # type: ignore[arg-type]


def test_the_cost_of_writes_is_that_of_the_table_alone() -> None:
    before, after = {1: SEEN, 2: INSERT}, {1: INDEXED, 2: slower(1.5)}
    cost = write_cost(BOTH, (before, before), after, "orders")  # type: ignore[arg-type]
    assert (cost.statements, cost.time_share) == (1, pytest.approx(0.05))
    assert (cost.wal_bytes, cost.wal_bytes_after) == (20_000.0, 40_000.0)
    assert (cost.buffers, cost.buffers_after) == (1_000.0, 2_000.0)
    assert write_cost(BOTH, (before, before), after, "line").statements == 0  # type: ignore[arg-type]


def test_statements_that_use_an_index_have_their_figures_before_and_after() -> None:
    (one,) = served(BOTH, {1: SEEN, 2: INSERT}, {1: INDEXED, 2: INSERT}, "i")
    assert (one.query_id, one.time_ms, one.time_ms_after) == (1, 5.0, 0.5)
    assert (one.buffers, one.buffers_after) == (100.0, 4.0)
    assert not one.is_at_least
