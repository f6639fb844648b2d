"""The mean of blocks without the effect of the order of their trials."""

from __future__ import annotations

import pytest

from pgclinic.stats.counterbalanced import block_mean, order_effect


def test_the_effect_of_the_order_is_taken_out_of_a_mean_of_unequal_orders() -> None:
    """The arm is at 0.5, and whatever runs later gains 0.1: three blocks ran the arm later, one ran it earlier."""
    mean = block_mean([0.6, 0.6, 0.6, 0.4], [True, True, True, False])
    assert (mean.centre, mean.deviation) == pytest.approx((0.5, 0.1))
    assert mean.widening == pytest.approx((4 / 4 * (1 / 3 + 1)) ** 0.5)


@pytest.mark.parametrize("later", [[], [True, True, True], [True, False]])
def test_without_both_orders_it_is_the_plain_mean(later: list[bool]) -> None:
    mean = block_mean([1.0, 2.0, 6.0], later)
    assert (mean.centre, mean.blocks, mean.widening) == (3.0, 3, 1.0)
    assert order_effect([1.0, 2.0, 6.0], later) is None


def test_a_single_block_has_no_spread() -> None:
    assert block_mean([0.7]).deviation == 0.0


def test_an_order_effect_is_half_the_difference_of_the_orders_with_students_interval() -> None:
    found = order_effect([0.5, 0.7, 0.3, 0.5], [True, True, False, False])
    assert found is not None and found.low is not None and found.high is not None
    assert found.log_ratio == pytest.approx(0.1)
    # Student's quantile for two degrees of freedom is 4.3027, the standard error the root of 0.02 over 2.
    assert (found.low, found.high) == pytest.approx((0.1 - 4.302653 * 0.02**0.5 / 2, 0.1 + 4.302653 * 0.02**0.5 / 2))


def test_an_order_with_one_block_leaves_the_interval_open() -> None:
    found = order_effect([0.6, 0.6, 0.4], [True, True, False])
    assert found is not None
    assert (found.log_ratio, found.low, found.high) == (pytest.approx(0.1), None, None)
