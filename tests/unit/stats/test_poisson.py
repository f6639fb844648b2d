"""Exact limits of counts and of ratios of rates, against printed tables."""

import math

import pytest

from pgclinic.stats.poisson import poisson_limits, rate_ratio_limits

# Garwood's 95 % limits as tables print them.
TABLE = [
    (0, 0.0, 3.689),
    (1, 0.0253, 5.572),
    (2, 0.2422, 7.225),
    (5, 1.623, 11.668),
    (10, 4.795, 18.390),
    (11, 5.491, 19.682),
    (30, 20.241, 42.827),
    (100, 81.364, 121.627),
]


@pytest.mark.parametrize(("events", "low", "high"), TABLE)
def test_limits_of_a_count_agree_with_tables(events: int, low: float, high: float) -> None:
    assert poisson_limits(events) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_no_event_has_a_closed_form() -> None:
    assert poisson_limits(0)[1] == pytest.approx(-math.log(0.025), rel=1e-12)
    assert poisson_limits(0, alpha=0.1)[1] == pytest.approx(-math.log(0.05), rel=1e-12)


def test_large_counts_approach_the_normal_limits() -> None:
    low, high = poisson_limits(1_000_000)
    assert low == pytest.approx(1_000_000 - 1.959964 * 1000, abs=3)
    assert high == pytest.approx(1_000_000 + 1.959964 * 1000, abs=4)


def test_a_ratio_of_rates_is_the_odds_of_the_binomial_share() -> None:
    # Clopper-Pearson for 5 of 10 is 0.1871 to 0.8129, for 0 of 10 it ends at 0.3085.
    low, high = rate_ratio_limits(5, 1.0, 5, 1.0)
    assert (low, high) == (pytest.approx(0.1871 / 0.8129, abs=2e-4), pytest.approx(0.8129 / 0.1871, abs=4e-3))
    assert rate_ratio_limits(0, 1.0, 10, 1.0) == (0.0, pytest.approx(0.3085 / 0.6915, abs=2e-4))


def test_exposures_scale_the_ratio() -> None:
    low, high = rate_ratio_limits(8, 20.0, 40, 10.0)
    plain_low, plain_high = rate_ratio_limits(8, 1.0, 40, 1.0)
    assert (low, high) == (pytest.approx(plain_low / 2), pytest.approx(plain_high / 2))


def test_a_ratio_without_events_bounds_what_it_can() -> None:
    assert rate_ratio_limits(0, 1.0, 0, 1.0) == (0.0, math.inf)
    low, high = rate_ratio_limits(4, 1.0, 0, 1.0)
    assert low > 0 and high == math.inf


@pytest.mark.parametrize("call", [lambda: poisson_limits(-1), lambda: rate_ratio_limits(1, 0.0, 1, 1.0)])
def test_nonsense_is_refused(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="zero"):
        call()
