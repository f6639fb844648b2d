"""Ratios on the log scale."""

from __future__ import annotations

import math

import pytest

from pgclinic.stats.log_ratio import log_ratio, ratio_range


def test_twice_and_half_as_fast_are_equally_far_from_no_difference() -> None:
    assert log_ratio(200.0, 100.0) == pytest.approx(math.log(2.0))
    assert log_ratio(100.0, 200.0) == pytest.approx(-math.log(2.0))
    assert log_ratio(7.0, 7.0) == 0.0
    assert ratio_range(-math.log(4.0), math.log(2.0)) == pytest.approx((0.25, 2.0))


@pytest.mark.parametrize(("arm", "control"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 2.0), (-1.0, -2.0)])
def test_a_log_ratio_needs_two_positive_values(arm: float, control: float) -> None:
    with pytest.raises(ValueError, match=f"not {arm} and {control}"):
        log_ratio(arm, control)
