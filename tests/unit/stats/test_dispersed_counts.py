"""Limits for few events that differ from block to block by more than chance."""

from __future__ import annotations

import pytest

from pgclinic.stats.dispersed_counts import dispersed_limits, dispersed_ratio_limits
from pgclinic.stats.poisson import poisson_limits, rate_ratio_limits


def test_counts_that_chance_explains_keep_their_exact_limits() -> None:
    assert dispersed_limits([5, 5, 5, 5]) == pytest.approx(poisson_limits(20))
    exact = rate_ratio_limits(20, 40.0, 10, 40.0)
    assert dispersed_ratio_limits([10, 10], 40.0, [5, 5], 40.0) == pytest.approx(exact)


def test_counts_that_vary_more_widen_the_limits_on_both_sides() -> None:
    low, high = dispersed_limits([0, 20, 0, 0])
    exact_low, exact_high = poisson_limits(20)
    assert low < exact_low / 2 and high > exact_high * 2
    ratio_low, ratio_high = dispersed_ratio_limits([0, 20, 0, 0], 40.0, [3, 2, 3, 2], 40.0)
    exact_low, exact_high = rate_ratio_limits(20, 40.0, 10, 40.0)
    assert ratio_low < exact_low / 2 and ratio_high > exact_high * 2


@pytest.mark.parametrize("counts", [[], [0, 0, 0], [7]])
def test_without_events_or_without_a_second_trial_nothing_shows_a_spread(counts: list[int]) -> None:
    assert dispersed_limits(counts) == poisson_limits(sum(counts))


def test_an_arm_without_events_varies_as_the_other_one_does() -> None:
    exact = rate_ratio_limits(0, 30.0, 12, 30.0)
    assert dispersed_ratio_limits([0, 0, 0], 30.0, [4, 4, 4], 30.0) == pytest.approx(exact)
    low, high = dispersed_ratio_limits([0, 0, 0], 30.0, [0, 12, 0], 30.0)
    assert low == 0.0 and high > exact[1] * 3
    assert dispersed_ratio_limits([0, 0], 30.0, [0, 0], 30.0) == rate_ratio_limits(0, 30.0, 0, 30.0)


@pytest.mark.parametrize(("arm", "control"), [([1], [2]), ([1, 2], [3])])
def test_a_ratio_needs_both_counts_of_two_blocks(arm: list[int], control: list[int]) -> None:
    with pytest.raises(ValueError, match="two blocks or more"):
        dispersed_ratio_limits(arm, 1.0, control, 1.0)
