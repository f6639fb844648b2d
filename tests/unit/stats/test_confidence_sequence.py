"""The always-valid interval: known widths, and its error rates in seeded simulation."""

import math

import numpy as np
import pytest

from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import always_valid_interval, half_width, width_factor
from pgclinic.stats.student_t import t_half_width

RUNS = 20_000
LOOKS = range(4, 41)


def covered_at_all_looks(values: np.ndarray, truth: float) -> float:
    """The share of rows whose interval holds ``truth`` at every look."""
    held = np.ones(len(values), dtype=bool)
    for n in LOOKS:
        part = values[:, :n]
        half = width_factor(n) * part.std(axis=1, ddof=1)
        held &= np.abs(part.mean(axis=1) - truth) <= half
    return float(held.mean())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_too_few_values_bound_nothing(n: int) -> None:
    assert width_factor(n) == math.inf
    assert half_width(n, 0.0) == math.inf


def test_the_formula_by_hand_at_five() -> None:
    a = 1 / 6
    c = (math.sqrt(6) / 0.05) ** (-2 / 5)
    expected = math.sqrt(4 * (1 - c) / (c - a)) / math.sqrt(5)
    assert width_factor(5) == pytest.approx(expected, rel=1e-12)
    assert width_factor(5) == pytest.approx(3.78, abs=0.01)


@pytest.mark.parametrize(("n", "times_wider"), [(5, 3.0), (8, 1.8), (20, 1.65)])
def test_width_against_the_plain_interval(n: int, times_wider: float) -> None:
    assert half_width(n, 1.0) / t_half_width(n, 1.0) == pytest.approx(times_wider, rel=0.08)


def test_interval_is_centred_on_the_mean() -> None:
    low, high = always_valid_interval([0.1, 0.2, 0.3, 0.4, 0.5])
    assert (low + high) / 2 == pytest.approx(0.3)
    assert high - low == pytest.approx(2 * half_width(5, math.sqrt(0.025)))


def test_one_value_has_no_interval() -> None:
    assert always_valid_interval([0.2]) == (-math.inf, math.inf)


def test_simultaneous_coverage_for_normal_values() -> None:
    draws = np.random.default_rng(20261120).normal(0.3, 0.05, size=(RUNS, max(LOOKS)))
    coverage = covered_at_all_looks(draws, 0.3)
    assert coverage >= 0.95
    assert coverage == pytest.approx(0.976, abs=0.01)


def test_simultaneous_coverage_for_heavy_tails() -> None:
    draws = np.random.default_rng(3).standard_t(3, size=(RUNS, max(LOOKS)))
    assert covered_at_all_looks(draws, 0.0) >= 0.95


def test_equal_arms_are_seldom_told_apart() -> None:
    """A/A: at any of 37 looks, in at most 5 % of the runs, the interval may leave zero on one side."""
    draws = np.random.default_rng(11).normal(0.0, 0.04, size=(RUNS, max(LOOKS)))
    assert 1 - covered_at_all_looks(draws, 0.0) <= 0.05


@pytest.mark.parametrize(("effect", "blocks", "power_min"), [(0.30, 8, 0.99), (0.30, 5, 0.8), (0.15, 12, 0.95)])
def test_power_to_see_an_effect_beyond_the_null_zone(effect: float, blocks: int, power_min: float) -> None:
    draws = np.random.default_rng(5).normal(math.log(1 - effect), 0.05, size=(RUNS // 4, blocks))
    seen = np.zeros(len(draws), dtype=bool)
    for n in range(4, blocks + 1):
        part = draws[:, :n]
        seen |= part.mean(axis=1) + width_factor(n) * part.std(axis=1, ddof=1) < -NULL_EFFECT
    assert seen.mean() >= power_min
