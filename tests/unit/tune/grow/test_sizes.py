"""Which twins are built: sizes that double, as large as budget and disk allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.growth import shop_twin
from pgclinic.model.grow import TwinSize
from pgclinic.tune.grow.sizes import BUILD_SHARE, COPIES, estimated, planned_sizes
from pgclinic.twin.grown import growth_plan

PLENTY = 1e15


def planned(to: float = 10.0, budget_s: float = 300.0, free_bytes: float = PLENTY) -> tuple[TwinSize, ...]:
    twin = shop_twin()
    return planned_sizes(twin, growth_plan(twin, to), to=to, budget_s=budget_s, free_bytes=free_bytes)


def sizes(*asked: float, **more: float) -> list[float]:
    return [one.size for one in planned(*asked, **more)]


def test_with_room_there_are_one_two_four_and_eight() -> None:
    assert sizes() == [1.0, 2.0, 4.0, 8.0]


def test_no_twin_is_much_larger_than_the_target() -> None:
    assert sizes(2.0) == [1.0, 0.25, 0.5, 2.0]
    assert sizes(3.0) == [1.0, 0.5, 2.0, 4.0]


def test_a_small_budget_and_a_small_disk_make_smaller_twins() -> None:
    assert max(sizes(budget_s=70.0)) < 8.0
    assert max(sizes(free_bytes=60e6)) < 8.0


def test_where_there_is_no_time_for_four_three_do() -> None:
    """Each has its fixed costs: smaller rows alone would not help."""
    assert sizes(budget_s=46.0) == [1.0, 2.0, 4.0]


def test_what_is_built_already_takes_no_time() -> None:
    twin = shop_twin()
    plan = growth_plan(twin, 10.0)
    found = planned_sizes(twin, plan, to=10.0, budget_s=20.0, free_bytes=PLENTY, is_built=lambda _: True)
    assert [one.size for one in found] == [1.0, 2.0, 4.0, 8.0]


@given(st.floats(1.5, 1000.0), st.floats(20.0, 5000.0))
def test_what_is_planned_fits_or_is_the_least(to: float, budget_s: float) -> None:
    found = planned(to, budget_s)
    assert len(found) in (3, 4)
    assert len({one.size for one in found}) == len(found)
    fits = sum(one.estimated_s for one in found) <= BUILD_SHARE * budget_s
    assert fits or max(one.size for one in found) <= 0.25


def test_an_estimate_counts_what_grows() -> None:
    twin = shop_twin()
    plan = growth_plan(twin, 10.0)
    one, four = estimated(twin, plan, 1.0), estimated(twin, plan, 4.0)
    assert one.estimated_rows == 63_030
    assert four.estimated_rows == 4 * 63_000 + 30
    assert four.estimated_bytes == pytest.approx(4 * one.estimated_bytes, rel=0.01)
    assert COPIES > 2
