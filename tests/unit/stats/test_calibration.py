"""Slice length, noise of restarts, and what a budget can tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.series import QUIET, SHARED, UGLY, Noise, log_ratios, log_tps
from pgclinic.stats.calibration import (
    SliceNoise,
    best_slice,
    blocks_in_budget,
    caution,
    gap_between,
    longest_length,
    neighbour_log_ratios,
    pair_deviation,
    pairs_side_by_side,
    restart_deviation,
    shows_no_effect,
    slice_noises,
    smallest_effect,
)
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import width_factor

WHITE = Noise(carry=0.0, deviation=0.05)
DRIFTING = Noise(carry=0.0, deviation=0.01, drift=0.02)


def tps_of(noise: Noise, runs: int, seconds: int, seed: int = 1) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    return [[float(value) for value in row] for row in 1000 * np.exp(log_tps(noise, seconds, rng, runs=runs))]


def test_neighbours_by_hand() -> None:
    assert neighbour_log_ratios([1, 1, 2, 2], 2) == (pytest.approx(math.log(2)),)
    assert neighbour_log_ratios([1, 2, 4], 1) == (pytest.approx(math.log(2)), pytest.approx(math.log(2)))
    assert neighbour_log_ratios([1, 5, 2], 1, gap_s=1) == (pytest.approx(math.log(2)),)
    assert neighbour_log_ratios([1, 2], 2) == ()


def test_slices_without_a_transaction_have_no_log_ratio() -> None:
    with pytest.raises(ValueError, match="positive"):
        neighbour_log_ratios([0, 0, 5, 5], 2)


def test_deviation_pools_all_series_about_zero() -> None:
    up, down = [1.0, math.e], [math.e, 1.0]
    assert pair_deviation([up, down], 1) == pytest.approx(1.0)
    assert pair_deviation([up, up], 1) == pytest.approx(1.0), "a common rise is noise too: nothing differed"
    with pytest.raises(ValueError, match="two slices of 3 s"):
        pair_deviation([up], 3)


@pytest.mark.parametrize("length", [1, 4, 10])
def test_independent_seconds_average_out(length: int) -> None:
    expected = WHITE.deviation * math.sqrt(2 / length)
    assert pair_deviation(tps_of(WHITE, 300, 60), length) == pytest.approx(expected, rel=0.06)


def test_the_deviation_read_off_is_that_of_blocks() -> None:
    seen = pair_deviation(tps_of(SHARED, 300, 60), 10)
    blocks = log_ratios(SHARED, np.random.default_rng(2), runs=300, blocks=10, effect=0.0, switch_s=0)
    assert seen == pytest.approx(float(blocks.std()), rel=0.1)


def test_restarts_are_told_from_seconds() -> None:
    rng = np.random.default_rng(3)
    steady = tps_of(QUIET, 400, 20)
    moved = [[tps * level for tps in row] for row, level in zip(steady, np.exp(rng.normal(0, 0.06, 400)), strict=True)]
    within = slice_noises(steady, 0.0)[-1]
    assert restart_deviation(moved, within) == pytest.approx(0.06, rel=0.1)
    assert restart_deviation(steady, within) < 0.01
    white = tps_of(WHITE, 400, 20)
    assert restart_deviation(white, slice_noises(white, 0.0)[-1]) < 0.004, "its trials' levels are 0.011 apart"
    assert restart_deviation(moved[:1], within) == 0.0


def test_a_switch_that_costs_asks_for_long_slices_and_drift_for_short_ones() -> None:
    dear = best_slice(slice_noises(tps_of(WHITE, 50, 60), 20.0), 1e6, 5)
    drifting = best_slice(slice_noises(tps_of(DRIFTING, 50, 60), 4.0), 1e6, 5)
    assert dear is not None
    assert drifting is not None
    assert dear.length_s >= 8
    assert drifting.length_s <= 3


def test_the_restart_noise_is_in_every_length_and_asks_for_short_slices() -> None:
    series = tps_of(WHITE, 50, 60)
    without, with_restarts = slice_noises(series, 4.0), slice_noises(series, 4.0, restart=0.1)
    assert all(
        b.deviation == pytest.approx(math.hypot(a.deviation, math.sqrt(2) * 0.1))
        for a, b in zip(without, with_restarts, strict=True)
    )
    long, short = best_slice(without, 1e6, 5), best_slice(with_restarts, 1e6, 5)
    assert long is not None
    assert short is not None
    assert short.length_s < long.length_s


def test_only_what_the_budget_holds_is_chosen() -> None:
    noises = [SliceNoise(5, 0.10, 14, 4), SliceNoise(10, 0.01, 24, 4)]
    assert best_slice(noises, 5 * 24, 5) == noises[1]
    assert best_slice(noises, 5 * 24 - 1, 5) == noises[0]
    assert best_slice(noises, 5 * 14 - 1, 5) is None


def test_of_equals_the_shortest() -> None:
    noises = [SliceNoise(4, 0.051, 10, 4), SliceNoise(9, 0.0354, 20, 4)]
    assert noises[0].score > noises[1].score
    assert best_slice(noises, 1e6, 5) == noises[0]


def test_a_length_is_judged_by_three_pairs_side_by_side() -> None:
    assert longest_length([[1.0] * 60]) == 10
    assert longest_length([[1.0] * 60], gap_s=2) == 9
    assert longest_length([[1.0] * 20] * 3) == 10
    assert longest_length([[1.0] * 20] * 2) == 5
    assert longest_length([[1.0] * 5]) == 0
    assert longest_length([]) == 0


def test_the_gap_is_half_of_the_switches_and_fits() -> None:
    assert gap_between([[1.0] * 30], 4.0) == 2
    assert gap_between([[1.0] * 30, [1.0] * 10], 90.0) == 7
    assert gap_between([], 4.0) == 0


def test_a_gap_shows_the_noise_that_neighbouring_seconds_share() -> None:
    series = tps_of(UGLY, 100, 60)
    assert pair_deviation(series, 1, gap_s=5) > 1.5 * pair_deviation(series, 1)


def test_blocks_in_budget() -> None:
    assert blocks_in_budget(24, 285) == 11
    assert blocks_in_budget(24, 240) == 10
    assert blocks_in_budget(24, 3) == 0


def test_four_blocks_tell_nothing_and_noise_costs_effect() -> None:
    assert smallest_effect(0.01, 4) == math.inf
    assert not shows_no_effect(0.0001, 4)
    assert NULL_EFFECT < smallest_effect(0.02, 8) < smallest_effect(0.04, 8)
    assert smallest_effect(0.02, 20) < smallest_effect(0.02, 8)


@pytest.mark.parametrize("pairs", [3, 4, 8, 30])
def test_caution_is_exceeded_in_three_cases_of_ten(pairs: int) -> None:
    seen = np.sqrt((np.random.default_rng(pairs).normal(size=(20_000, pairs)) ** 2).mean(axis=1))
    assert (seen * caution(pairs) < 1.0).mean() == pytest.approx(0.30, abs=0.02)
    noise = SliceNoise(5, 0.02, 14, pairs)
    assert noise.cautious_deviation == pytest.approx(0.02 * caution(pairs))


def test_pairs_side_by_side() -> None:
    assert pairs_side_by_side([[1.0] * 15] * 4, 5, gap_s=2) == 4
    assert slice_noises([[1.0] * 60], 4.0)[0].pairs == 60 // (2 + 2)


@pytest.mark.parametrize(("deviation", "blocks"), [(0.015, 6), (0.04, 10), (0.08, 20)])
def test_the_smallest_effect_is_told_with_its_power(deviation: float, blocks: int) -> None:
    effect = smallest_effect(deviation, blocks)
    draws = np.random.default_rng(4).normal(-effect, deviation, size=(4000, blocks))
    high = draws.mean(axis=1) + width_factor(blocks) * draws.std(axis=1, ddof=1)
    assert 0.72 <= (high < -NULL_EFFECT).mean() <= 0.88


def test_no_effect_is_shown_with_its_power() -> None:
    blocks = 12
    deviation = max(step / 10_000 for step in range(1, 1000) if shows_no_effect(step / 10_000, blocks))
    draws = np.random.default_rng(5).normal(0.0, deviation, size=(4000, blocks))
    half = width_factor(blocks) * draws.std(axis=1, ddof=1)
    assert 0.72 <= (np.abs(draws.mean(axis=1)) + half <= NULL_EFFECT).mean() <= 0.88
    assert not shows_no_effect(0.08, blocks)


def test_a_worse_machine_tells_less() -> None:
    told = []
    for noise in (QUIET, SHARED, UGLY):
        best = best_slice(slice_noises(tps_of(noise, 40, 60), 4.0), 285, 5)
        assert best is not None
        told.append(smallest_effect(best.deviation, blocks_in_budget(best.pair_s, 285)))
    assert told == sorted(told)
    assert told[0] < math.log(1.1)
    assert told[2] > math.log(1.1)
