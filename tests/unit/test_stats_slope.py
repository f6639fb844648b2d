"""Slopes over time and over levels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.series import SHARED, log_tps
from pgclinic.stats.slope import (
    decline_interval,
    elasticities,
    elasticity_interval,
    least_squares_slope,
    log_slope_per_s,
    monotone,
    slopes_beside_control,
    theil_sen,
)


def test_theil_sen_of_a_line_with_wild_points() -> None:
    x = [float(value) for value in range(20)]
    y = [3.0 + 2.0 * value for value in x]
    y[3], y[11], y[17] = 500.0, -900.0, 1e6
    assert theil_sen(x, y) == pytest.approx(2.0)
    assert least_squares_slope(x, y) != pytest.approx(2.0, rel=0.5)


def test_a_slope_needs_two_places() -> None:
    for slope in (theil_sen, least_squares_slope):
        with pytest.raises(ValueError, match="two different values"):
            slope([1.0, 1.0], [2.0, 3.0])


def test_log_slope_passes_over_empty_seconds() -> None:
    tps = [1000 * 0.99**second for second in range(30)]
    tps[7] = 0.0
    assert log_slope_per_s(tps) == pytest.approx(math.log(0.99))


def test_a_common_decline_is_none_of_the_arm() -> None:
    common = [1000 * 0.98**second for second in range(30)]
    arm = [value * 0.99**second for second, value in enumerate(common)]
    assert slopes_beside_control([(common, common), (arm, common)]) == (
        pytest.approx(0.0),
        pytest.approx(math.log(0.99)),
    )


def test_four_pairs_say_nothing_of_a_trend() -> None:
    assert decline_interval([-0.1, -0.11, -0.1, -0.12]) == (-math.inf, math.inf)
    low, high = decline_interval([-0.010, -0.011, -0.009, -0.010, -0.0105, -0.0095])
    assert low < -0.010 < high < 0.0


def test_a_decline_that_is_not_there_is_seldom_claimed() -> None:
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(60):
        rows = np.exp(log_tps(SHARED, 20, rng, runs=12)).tolist()
        pairs = list(zip(rows[::2], rows[1::2], strict=True))
        low, high = decline_interval(slopes_beside_control(pairs))
        wrong += not low <= 0.0 <= high
    assert wrong <= 6


def test_elasticity_is_read_off_each_block() -> None:
    levels = [8, 32, 128, 1024]
    blocks = [[scale * level**-0.25 for level in levels] for scale in (900, 1000, 1100, 950, 1050)]
    assert elasticities(levels, blocks) == tuple(pytest.approx(-0.25) for _ in blocks)
    low, high = elasticity_interval(levels, blocks)
    assert low == pytest.approx(-0.25)
    assert high == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("counter", "direction", "expected"),
    [([1, 2, 2, 5], 1, True), ([5, 4, 1], -1, True), ([1, 3, 2], 1, False), ([2, 2, 2], 1, False), ([3], 1, False)],
)
def test_monotone(counter: list[float], direction: int, *, expected: bool) -> None:
    assert monotone(counter, direction) is expected
