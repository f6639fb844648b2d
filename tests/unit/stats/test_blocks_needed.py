"""How many more blocks decide a question."""

from __future__ import annotations

import math

import pytest

from pgclinic.stats import planned_sequence
from pgclinic.stats.blocks_needed import blocks_still_needed, deciding_half_width, first_bounded
from pgclinic.stats.confidence_sequence import half_width, width_factor


def test_the_interval_is_bounded_from_that_block_on() -> None:
    first = first_bounded()
    assert math.isinf(width_factor(first - 1, 0.05)) and math.isfinite(width_factor(first, 0.05))


def test_an_interval_may_reach_the_nearest_boundary() -> None:
    assert deciding_half_width(0.2, (-0.05, 0.05, 1.0)) == pytest.approx(0.15)


@pytest.mark.parametrize("wanted", [0.3, 0.1, 0.04])
def test_so_many_more_blocks_are_just_enough(wanted: float) -> None:
    total = 5 + (blocks_still_needed(5, 0.1, wanted) or 0)
    assert half_width(total, 0.1, 0.05) <= wanted < half_width(total - 1, 0.1, 0.05)


def test_a_planned_number_of_blocks_has_its_own_interval() -> None:
    total = 5 + (blocks_still_needed(5, 0.1, 0.08, horizon=40) or 0)
    assert planned_sequence.half_width(total, 0.1, 40) <= 0.08 < planned_sequence.half_width(total - 1, 0.1, 40)


def test_without_spread_the_next_bounded_interval_decides_and_a_boundary_never_is() -> None:
    assert blocks_still_needed(50, 0.0, 0.1) == 1
    assert blocks_still_needed(1, 0.0, 0.1) == first_bounded() - 1
    assert blocks_still_needed(5, 0.1, 0.0) is None
    assert blocks_still_needed(5, 1.0, 0.001) is None
