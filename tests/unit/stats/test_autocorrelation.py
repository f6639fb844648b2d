"""How much neighbouring values repeat each other."""

from __future__ import annotations

import pytest

from pgclinic.stats.autocorrelation import autocorrelation, correlation_time


def test_autocorrelation_of_a_series_that_alternates_and_of_one_that_does_not_vary() -> None:
    alternating = [1.0, -1.0, 1.0, -1.0]
    assert [autocorrelation(alternating, lag) for lag in range(4)] == pytest.approx([1.0, -0.75, 0.5, -0.25])
    assert autocorrelation([5.0, 5.0, 5.0], 1) == 0.0


@pytest.mark.parametrize("lag", [-1, 3])
def test_a_lag_lies_within_the_series(lag: int) -> None:
    with pytest.raises(ValueError, match=f"a lag of {lag} does not fit into 3 values"):
        autocorrelation([1.0, 2.0, 3.0], lag)


def test_correlation_time_adds_pairs_of_lags_until_one_is_not_positive() -> None:
    """Two long steps: lags 0 to 3 are 1, 0.625, 0.25 and -0.125; the pair from lag 4 on is negative."""
    assert correlation_time([1.0] * 4 + [-1.0] * 4) == pytest.approx(-1.0 + 2.0 * (1.625 + 0.125))


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0, 2.0], [1.0, -1.0, 1.0, -1.0]])
def test_correlation_time_is_never_less_than_one_value(values: list[float]) -> None:
    assert correlation_time(values) == 1.0
