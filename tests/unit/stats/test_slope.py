"""Slopes over time and over levels."""

from __future__ import annotations

import math
from statistics import linear_regression

import pytest

from pgclinic.stats.slope import log_slope_per_s, monotone, theil_sen


def test_theil_sen_of_a_line_with_wild_points() -> None:
    x = [float(value) for value in range(20)]
    y = [3.0 + 2.0 * value for value in x]
    y[3], y[11], y[17] = 500.0, -900.0, 1e6
    assert theil_sen(x, y) == pytest.approx(2.0)
    assert linear_regression(x, y).slope != pytest.approx(2.0, rel=0.5)


def test_a_slope_needs_two_places() -> None:
    with pytest.raises(ValueError, match="two different values"):
        theil_sen([1.0, 1.0], [2.0, 3.0])


def test_log_slope_passes_over_empty_seconds() -> None:
    tps = [1000 * 0.99**second for second in range(30)]
    tps[7] = 0.0
    assert log_slope_per_s(tps) == pytest.approx(math.log(0.99))


@pytest.mark.parametrize(
    ("counter", "direction", "expected"),
    [([1, 2, 2, 5], 1, True), ([5, 4, 1], -1, True), ([1, 3, 2], 1, False), ([2, 2, 2], 1, False), ([3], 1, False)],
)
def test_monotone(counter: list[float], direction: int, *, expected: bool) -> None:
    assert monotone(counter, direction) is expected
