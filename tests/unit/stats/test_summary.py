"""Summaries of a few numbers."""

from __future__ import annotations

import statistics

import pytest

from pgclinic.stats.summary import standard_deviation


def test_the_standard_deviation_is_that_of_a_sample() -> None:
    assert standard_deviation([1.0, 3.0]) == pytest.approx(2.0**0.5)
    # Far from 0, where a sum of squares would lose every digit.
    values = [1e9 + step for step in (4.0, 7.0, 13.0, 16.0)]
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-12)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_has_no_standard_deviation(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two values or more"):
        standard_deviation(values)
