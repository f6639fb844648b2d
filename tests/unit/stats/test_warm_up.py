"""The cut by state, MSER-5 as a flag, and how far seconds repeat each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.series import QUIET, SHARED, Noise, log_tps
from pgclinic.stats.autocorrelation import autocorrelation, correlation_time
from pgclinic.stats.warm_up import Cut, cut_by_state, mser_cut, never_settled

RISE = [1000 * (1 - math.exp(-second / 8)) for second in range(120)]


def test_a_steady_start_is_cut_when_a_drift_could_have_been_seen() -> None:
    assert cut_by_state([1000.0] * 60) == Cut(cut_s=20, settled=True)


@pytest.mark.parametrize("time_constant", [60, 90, 120])
@pytest.mark.parametrize("start", [0.0, 0.5])
def test_a_slow_rise_is_not_called_settled_half_way_up(time_constant: float, start: float) -> None:
    """Two bins that agree within 5 % were enough: it settled at 38 to 77 % of the final level."""
    rise = [1000 * (1 - (1 - start) * math.exp(-(at + 0.5) / time_constant)) for at in range(60)]
    assert not cut_by_state(rise).settled
    noise = np.exp(log_tps(QUIET, 60, np.random.default_rng(9), runs=100))
    assert np.mean([cut_by_state(row).settled for row in (noise * np.array(rise)).tolist()]) <= 0.05


def test_a_drift_of_less_than_a_tenth_a_minute_is_settled() -> None:
    assert cut_by_state([1000.0 + 1.5 * at for at in range(60)]).settled
    assert not cut_by_state([1000.0 + 2.5 * at for at in range(60)]).settled


@pytest.mark.parametrize(("noise", "least"), [(QUIET, 1.0), (SHARED, 0.9)])
def test_a_steady_machine_settles(noise: Noise, least: float) -> None:
    rows = np.exp(log_tps(noise, 60, np.random.default_rng(4), runs=100)).tolist()
    assert np.mean([cut_by_state(row).settled for row in rows]) >= least


def test_a_rise_is_cut_where_it_ends() -> None:
    cut = cut_by_state(RISE)
    assert cut.settled
    assert 20 <= cut.cut_s <= 55
    assert RISE[cut.cut_s] > 950


def test_misses_must_have_come_to_rest_too() -> None:
    misses = [0.5 * 0.93**second for second in range(120)]
    cut = cut_by_state([1000.0] * 120, misses)
    assert cut.settled
    assert cut.cut_s > 30
    assert cut_by_state([1000.0] * 120, [0.3] * 120) == Cut(cut_s=20, settled=True)


def test_nobody_waits_longer_than_a_minute() -> None:
    falling = [1000 * 0.97**second for second in range(300)]
    assert cut_by_state(falling) == Cut(cut_s=60, settled=False)
    assert cut_by_state(falling[:7]) == Cut(cut_s=7, settled=False)


def test_what_comes_after_the_cut_cannot_move_it() -> None:
    cut = cut_by_state(RISE)
    assert cut_by_state([*RISE[: cut.cut_s], *([1.0] * 80)]) == cut


def test_two_series_must_be_of_the_same_time() -> None:
    with pytest.raises(ValueError, match="not the same time"):
        cut_by_state([1.0, 2.0], [0.1])


def test_a_server_that_answers_nothing_is_at_rest() -> None:
    assert cut_by_state([0.0] * 20).settled


def test_mser_by_hand() -> None:
    # Batches of one: dropping the two outliers at the start leaves the least squared standard error.
    values = [9.0, 5.0, 1.0, 1.1, 0.9, 1.0, 1.05, 0.95]
    scores = []
    for dropped in range(5):
        rest = values[dropped:]
        centre = sum(rest) / len(rest)
        scores.append(sum((value - centre) ** 2 for value in rest) / len(rest) ** 2)
    assert mser_cut(values, batch=1) == scores.index(min(scores)) == 2
    assert mser_cut([1.0] * 3, batch=1) is None


def test_a_fall_over_the_whole_trial_never_settled() -> None:
    assert never_settled([1000.0 - 5 * second for second in range(60)])
    short = [1000 * (1 - math.exp(-second / 3)) + 20 * (-1) ** (second // 5) for second in range(60)]
    assert not never_settled(short)
    assert not never_settled([1000.0] * 60)


@pytest.mark.parametrize(("noise", "most"), [(QUIET, 0.12), (SHARED, 0.25)])
def test_steady_noise_is_flagged_seldom(noise: Noise, most: float) -> None:
    rows = np.exp(log_tps(noise, 60, np.random.default_rng(6), runs=400)).tolist()
    assert np.mean([never_settled(row) for row in rows]) <= most


def test_autocorrelation_of_known_series() -> None:
    assert autocorrelation([1.0, -1.0] * 50, 1) == pytest.approx(-0.99)
    assert autocorrelation([4.0] * 9, 3) == 0.0
    with pytest.raises(ValueError, match="does not fit"):
        autocorrelation([1.0, 2.0], 2)


@pytest.mark.parametrize("carry", [0.0, 0.5, 0.8])
def test_correlation_time_of_an_autoregression(carry: float) -> None:
    rows = log_tps(Noise(carry=carry, deviation=1.0), 2000, np.random.default_rng(7), runs=20)
    seen = np.mean([correlation_time(row) for row in rows.tolist()])
    assert seen == pytest.approx((1 + carry) / (1 - carry), rel=0.2)
