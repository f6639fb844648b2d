"""e-values: the interval turned round, the bank they bet against, and e-BH."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.e_values import false_discoveries_held, log_e_value, log_e_value_of

SLOWER_DENIED = ((-NULL_EFFECT, math.inf),)


def at(point: float) -> tuple[tuple[float, float]]:
    return ((point, point),)


def test_by_hand() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    t_squared = 5 * 0.3**2 / 0.025
    expected = 6**-0.5 * ((1 + t_squared / 4) / (1 + t_squared / 24)) ** 2.5
    assert log_e_value(values, at(0.0)) == pytest.approx(math.log(expected))


def test_on_the_bound_of_the_interval_the_evidence_is_one_in_twenty() -> None:
    values = [0.11, 0.24, 0.17, 0.31, 0.26, 0.2]
    low, high = always_valid_interval(values)
    assert log_e_value(values, at(low)) == pytest.approx(math.log(20))
    assert log_e_value(values, at(high)) == pytest.approx(math.log(20))


def test_a_range_is_charged_with_its_nearest_mean() -> None:
    values = [-0.4, -0.5, -0.45, -0.42, -0.47]
    assert log_e_value(values, SLOWER_DENIED) == log_e_value(values, at(-NULL_EFFECT))
    assert log_e_value(values, ((-1.0, 0.0),)) == log_e_value(values, at(sum(values) / 5)) < 0.0
    both = ((-math.inf, -0.6), (-0.1, math.inf))
    assert log_e_value(values, both) == min(log_e_value(values, at(-0.6)), log_e_value(values, at(-0.1)))


def test_one_value_is_no_evidence() -> None:
    assert log_e_value([5.0], at(0.0)) == 0.0


def test_values_without_spread_stay_finite() -> None:
    assert log_e_value([0.3] * 5, at(0.0)) == pytest.approx(2 * math.log(6))
    assert log_e_value([0.0] * 5, at(0.0)) == pytest.approx(-math.log(6) / 2)


def test_a_hypothesis_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="allows no mean"):
        log_e_value([0.1, 0.2], ())


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_bank_is_fair(n: int) -> None:
    draws = np.random.default_rng(n).normal(0.2, 0.05, size=(20_000, n))
    paid = np.exp([log_e_value(row, at(0.2)) for row in draws.tolist()])
    assert paid.mean() == pytest.approx(1.0, abs=0.1)


def test_evidence_at_the_moment_of_stopping_is_fair_too() -> None:
    """Runs that stop at the first verdict in either direction, or at block 20, are not paid more than they bet."""
    draws = np.random.default_rng(9).normal(0.0, 0.05, size=(1500, 20)).tolist()
    paid = []
    for row in draws:
        for n in range(4, 21):
            evidence = log_e_value(row[:n], at(0.0))
            if evidence >= math.log(20):
                break
        paid.append(math.exp(evidence))
    assert np.mean(paid) <= 1.1


@pytest.mark.parametrize(("claims", "blocks"), [(1, 5), (3, 6), (6, 6), (7, 7), (10, 7)])
def test_many_claims_need_more_blocks_before_any_can_pass(claims: int, blocks: int) -> None:
    bar = claims / 0.05
    assert log_e_value([0.3] * blocks, at(0.0)) >= math.log(bar)
    assert log_e_value([0.3] * (blocks - 1), at(0.0)) < math.log(bar)


def test_e_bh_by_hand() -> None:
    # Of four: 80 passes the bar of the first (80), 40 that of the second (40), 20 misses that of the third (26.7).
    e_values = [40.0, 1.0, 80.0, 20.0]
    assert false_discoveries_held([math.log(e) + 1e-12 for e in e_values]) == (True, False, True, False)
    assert false_discoveries_held([math.log(e) for e in (79.0, 1.0, 39.0, 26.0)]) == (False,) * 4
    # Three that all pass the third bar are rejected, though none passes the first.
    assert false_discoveries_held([math.log(e) for e in (30.0, 28.0, 1.0, 27.0)]) == (True, True, False, True)


def test_e_bh_of_one_claim_is_its_own_test() -> None:
    assert false_discoveries_held([math.log(20.1)]) == (True,)
    assert false_discoveries_held([math.log(19.9)]) == (False,)
    assert false_discoveries_held([]) == ()


def test_what_a_p_value_is_worth() -> None:
    assert math.exp(log_e_value_of(0.01)) == pytest.approx(4.45, abs=0.01)
    assert math.exp(log_e_value_of(0.0001)) == pytest.approx(117.8, abs=0.1)
    assert log_e_value_of(1.0) == pytest.approx(math.log(0.5))
    assert log_e_value_of(0.9985) == pytest.approx(log_e_value_of(1.0), abs=0.001), "no jump near the end"
    assert math.isfinite(log_e_value_of(0.0))
    with pytest.raises(ValueError, match="between 0 and 1"):
        log_e_value_of(1.5)


def test_uniform_p_values_are_worth_one_on_average() -> None:
    """A fair bet: the mean over p in logarithmic steps, from 1e-300 to 1. Below lies 1/690 of it."""
    steps = np.linspace(math.log(1e-300), 0.0, 200_001)
    worth = np.exp([log_e_value_of(math.exp(step)) + step for step in steps])
    assert np.trapezoid(worth, steps) == pytest.approx(1.0, abs=0.002)
    worths = [log_e_value_of(p) for p in (1e-9, 1e-4, 0.01, 0.2, 0.7, 1.0)]
    assert worths == sorted(worths, reverse=True)
