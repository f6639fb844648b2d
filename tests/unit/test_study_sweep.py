"""A sweep's word, size and knee."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.series import MACHINES, SHARED, Noise, randomised_blocks
from pgclinic.model.verdict import VerdictWord
from pgclinic.stats.knee import knee
from pgclinic.study.sweep import SweepFinding, judge_sweep

LEVELS = [8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0]


def sweep(noise: Noise, change: float, *, blocks: int = 6, seed: int = 1) -> SweepFinding:
    """TPS that change by the ratio ``change`` from the first level to the last, evenly in the logarithm."""
    effects = tuple(math.log(change) * at / 5 for at in range(6))
    drawn = randomised_blocks(noise, np.random.default_rng(seed), runs=1, blocks=blocks, effects=effects)[0]
    return judge_sweep(LEVELS, (1000 * np.exp(drawn)).tolist(), -1)


def test_a_fall_is_replicated_with_its_size() -> None:
    finding = sweep(SHARED, 0.5)
    assert finding.word is VerdictWord.REPLICATED
    assert finding.e_value > 40
    assert finding.e_value_against < 1
    assert finding.page_p_value < 0.001
    assert finding.change_low is not None
    assert finding.change_high is not None
    assert finding.change_low < 0.5 < finding.change_high < 0.95


def test_a_rise_contradicts_a_fall() -> None:
    finding = sweep(SHARED, 2.0)
    assert finding.word is VerdictWord.CONTRADICTED
    assert finding.page_p_value > 0.9


def test_a_rise_that_was_claimed_is_replicated() -> None:
    effects = tuple(0.1 * level for level in range(6))
    drawn = randomised_blocks(SHARED, np.random.default_rng(3), runs=1, blocks=6, effects=effects)[0]
    finding = judge_sweep(LEVELS, np.exp(drawn).tolist(), 1)
    assert finding.word is VerdictWord.REPLICATED
    assert finding.change_low is not None
    assert finding.change_low > 1.05


def test_few_blocks_give_the_direction_but_no_size() -> None:
    finding = sweep(SHARED, 0.5, blocks=4)
    assert finding.word is VerdictWord.REPLICATED_IN_DIRECTION
    assert finding.change_low is None
    assert finding.blocks == 4


def test_a_fall_too_small_to_matter_is_no_effect() -> None:
    calm = Noise(carry=0.0, deviation=0.002)
    finding = sweep(calm, 0.985, blocks=8)
    assert finding.e_value > 40, "the ranks see it"
    assert finding.word is VerdictWord.NO_EFFECT


@pytest.mark.parametrize("machine", MACHINES)
def test_flat_levels_get_a_direction_in_at_most_one_sweep_of_twenty(machine: str) -> None:
    directed = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION, VerdictWord.CONTRADICTED}
    rng = np.random.default_rng(2)
    drawn = np.exp(randomised_blocks(MACHINES[machine], rng, runs=120, blocks=6, effects=(0.0,) * 6)).tolist()
    wrong = sum(any(judge_sweep(LEVELS, blocks[:n], -1).word in directed for n in range(1, 7)) for blocks in drawn)
    assert wrong / 120 <= 0.05


@pytest.mark.parametrize("levels", [[8.0, 8.0, 16.0], [32.0, 8.0, 16.0], [0.0, 8.0, 16.0]])
def test_levels_must_rise_from_above_zero(levels: list[float]) -> None:
    with pytest.raises(ValueError, match="rise"):
        judge_sweep(levels, [[3.0, 2.0, 1.0]], -1)


def test_the_knee_is_where_the_curve_bends() -> None:
    flat_then_falling = [1000.0, 1000.0, 1000.0, 500.0, 250.0, 125.0]
    assert knee(LEVELS, flat_then_falling) == 2
    blocks = [[scale * value for value in flat_then_falling] for scale in (0.9, 1.0, 1.1, 1.05, 0.95)]
    assert judge_sweep(LEVELS, blocks, -1).knee_level == 128.0


def test_a_straight_curve_and_a_short_one_have_no_knee() -> None:
    assert knee(LEVELS, [1000 * level**-0.5 for level in LEVELS]) is None
    assert knee([1.0, 2.0], [5.0, 1.0]) is None
