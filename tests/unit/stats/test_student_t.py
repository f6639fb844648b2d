"""The t quantile against printed tables (two-sided 95 and 99 %), and the plain interval."""

import math

import pytest

from pgclinic.stats.student_t import incomplete_beta, p_value_above, quantile, t_half_width, t_interval, upper_tail

TABLE = [
    (0.975, 1, 12.706205),
    (0.975, 2, 4.302653),
    (0.975, 3, 3.182446),
    (0.975, 4, 2.776445),
    (0.975, 5, 2.570582),
    (0.975, 9, 2.262157),
    (0.975, 10, 2.228139),
    (0.975, 19, 2.093024),
    (0.975, 30, 2.042272),
    (0.975, 120, 1.979930),
    (0.995, 1, 63.656741),
    (0.995, 4, 4.604095),
    (0.995, 20, 2.845340),
    (0.95, 4, 2.131847),
    (0.9, 7, 1.414924),
]


@pytest.mark.parametrize(("probability", "freedom", "expected"), TABLE)
def test_quantile_agrees_with_tables(probability: float, freedom: int, expected: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(expected, abs=1e-6)


def test_quantile_has_closed_forms() -> None:
    # One degree of freedom is the Cauchy distribution; two have an algebraic inverse.
    assert quantile(0.975, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-12)
    p = 0.975
    assert quantile(p, 2) == pytest.approx((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-12)


def test_quantile_is_normal_in_the_limit() -> None:
    assert quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-5)


def test_lower_quantile_mirrors_the_upper_one() -> None:
    assert quantile(0.025, 4) == -quantile(0.975, 4)
    assert quantile(0.5, 4) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 3), (1.0, 3), (0.9, 0), (0.9, -1)])
def test_quantile_refuses_nonsense(probability: float, freedom: float) -> None:
    with pytest.raises(ValueError, match=r"probability|degrees"):
        quantile(probability, freedom)


def test_upper_tail_of_cauchy() -> None:
    assert upper_tail(0.0, 1) == 0.5
    assert upper_tail(1.0, 1) == pytest.approx(0.25, rel=1e-13)


def test_incomplete_beta_known_values() -> None:
    assert incomplete_beta(1, 1, 0.3) == pytest.approx(0.3, rel=1e-13)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248, rel=1e-12)
    assert incomplete_beta(2, 3, 0.0) == 0.0
    assert incomplete_beta(2, 3, 1.0) == 1.0
    with pytest.raises(ValueError, match="from 0 to 1"):
        incomplete_beta(2, 3, 1.1)


def test_interval_of_known_values() -> None:
    low, high = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776445 * math.sqrt(2.5 / 5)
    assert (low, high) == (pytest.approx(3 - half, abs=1e-6), pytest.approx(3 + half, abs=1e-6))


def test_one_value_bounds_nothing() -> None:
    assert t_interval([1.0]) == (-math.inf, math.inf)
    assert t_half_width(1, 1.0) == math.inf


def test_p_value_of_one_side() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert p_value_above(values, 0.3) == pytest.approx(0.5)
    t = 0.3 / math.sqrt(0.025 / 5)
    assert p_value_above(values, 0.0) == pytest.approx(upper_tail(t, 4))
    assert p_value_above(values, 0.6) == pytest.approx(1 - upper_tail(t, 4))
    assert p_value_above([0.25] * 3, 0.125) == 0.0
    assert p_value_above([0.25] * 3, 0.25) == 1.0
    assert p_value_above([9.0], 0.0) == 1.0


def test_p_value_and_interval_agree() -> None:
    values = [0.11, 0.24, 0.17, 0.31]
    low, _ = t_interval(values, 0.05)
    assert p_value_above(values, low) == pytest.approx(0.025)
