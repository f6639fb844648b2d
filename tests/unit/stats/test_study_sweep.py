"""A sweep's word, size and knee."""

from __future__ import annotations

import math
from statistics import linear_regression

import numpy as np
import pytest

from fixtures.series import MACHINES, SHARED, Noise, randomised_blocks
from pgclinic.judge.regions import Ground
from pgclinic.judge.sweep import judge_sweep, sweep_word
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.claimed_region import claimed_region, direction, null_zone
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.knee import knee

LEVELS = [8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0]


def drawn_blocks(noise: Noise, change: float, *, blocks: int = 6, seed: int = 1) -> list[list[float]]:
    """TPS that change by the ratio ``change`` from the first level to the last, evenly in the logarithm."""
    effects = tuple(math.log(change) * at / 5 for at in range(6))
    drawn = randomised_blocks(noise, np.random.default_rng(seed), runs=1, blocks=blocks, effects=effects)[0]
    found: list[list[float]] = (1000 * np.exp(drawn)).tolist()
    return found


def word(blocks: list[list[float]], published: float, *, fixed: bool = False) -> VerdictWord:
    """The word on "from the first level to the last it is ``published`` times as fast"."""
    ground = Ground(claimed_region(published), null_zone(), direction(published))
    span = math.log(LEVELS[-1] / LEVELS[0])
    logs = [math.log(level) for level in LEVELS]
    slopes = [linear_regression(logs, [math.log(tps) for tps in block]).slope for block in blocks]
    low, high = (span * bound for bound in always_valid_interval(slopes))
    bounds = (math.exp(low), math.exp(high) if math.isfinite(high) else math.inf)
    return sweep_word(bounds, ground, judge_sweep(LEVELS, blocks, 1 if published > 1 else -1, fixed=fixed))


def test_a_fall_is_seen_and_its_opposite_is_not() -> None:
    finding = judge_sweep(LEVELS, drawn_blocks(SHARED, 0.5), -1)
    assert finding.follows
    assert not finding.opposes
    assert finding.e_value > 40
    assert finding.e_value_against < 1
    assert finding.trend.p_value < 0.001


def test_a_fixed_number_of_blocks_goes_by_the_p_value() -> None:
    """Three blocks in the claimed order: enough for one look, too few for an e-process."""
    blocks = [[6.0, 5.0, 4.0], [60.0, 50.0, 40.0], [7.0, 6.0, 5.0]]
    looked = judge_sweep([1.0, 2.0, 4.0], blocks, -1)
    fixed = judge_sweep([1.0, 2.0, 4.0], blocks, -1, fixed=True)
    assert fixed.follows
    assert not looked.follows
    assert judge_sweep([1.0, 2.0, 4.0], blocks, 1, fixed=True).opposes


def test_size_and_order_make_the_word() -> None:
    falling = drawn_blocks(SHARED, 0.5)
    assert word(falling, 0.5) is VerdictWord.REPLICATED
    assert word(falling, 0.95**2) is VerdictWord.REPLICATED_IN_DIRECTION
    assert word(falling, 2.0) is VerdictWord.CONTRADICTED
    assert word(drawn_blocks(SHARED, 2.0), 2.0) is VerdictWord.REPLICATED


def test_few_blocks_give_the_direction_but_no_size() -> None:
    assert word(drawn_blocks(SHARED, 0.5, blocks=4), 0.5) is VerdictWord.REPLICATED_IN_DIRECTION
    assert word(drawn_blocks(SHARED, 0.5, blocks=1), 0.5) is VerdictWord.INCONCLUSIVE


def test_the_right_size_in_the_wrong_order_is_not_believed() -> None:
    """The ends fall as claimed, the levels between them rise and fall by chance."""
    finding = judge_sweep(LEVELS, [[6.0, 3.0, 5.0, 2.0, 4.0, 3.5], [6.0, 2.0, 3.0, 5.0, 3.5, 4.0]], -1)
    ground = Ground(claimed_region(0.6), null_zone(), -1)
    assert not finding.follows
    assert sweep_word((0.55, 0.65), ground, finding) is VerdictWord.INCONCLUSIVE


def test_ranks_and_size_that_disagree_are_both_not_believed() -> None:
    falling, ground = judge_sweep(LEVELS, drawn_blocks(SHARED, 0.5), -1), Ground(claimed_region(0.6), null_zone(), -1)
    assert sweep_word((1.2, 1.4), ground, falling) is VerdictWord.INCONCLUSIVE
    rising = judge_sweep(LEVELS, drawn_blocks(SHARED, 2.0), -1)
    assert sweep_word((0.5, 0.6), ground, rising) is VerdictWord.INCONCLUSIVE


def test_a_size_outside_of_the_region_without_the_trend_refutes_the_claim() -> None:
    """Levels that rise and fall by chance, and an interval that excludes what is claimed."""
    chance = judge_sweep(LEVELS, [[6.0, 3.0, 5.0, 2.0, 4.0, 3.5], [6.0, 2.0, 3.0, 5.0, 3.5, 4.0]], -1)
    ground = Ground(claimed_region(0.6), null_zone(), -1)
    assert sweep_word((0.9, 1.2), ground, chance) is VerdictWord.NOT_REPLICATED
    assert sweep_word((1.2, 1.4), ground, chance) is VerdictWord.NOT_REPLICATED
    assert sweep_word((0.7, 1.2), ground, chance) is VerdictWord.INCONCLUSIVE
    # Weaker, and the trend may yet show: then it is replicated in direction.
    assert sweep_word((0.85, 0.9), ground, chance) is VerdictWord.INCONCLUSIVE


def test_a_fall_too_small_to_matter_is_no_effect() -> None:
    blocks = drawn_blocks(Noise(carry=0.0, deviation=0.002), 0.985, blocks=8)
    assert judge_sweep(LEVELS, blocks, -1).e_value > 40, "the ranks see it"
    assert word(blocks, 0.5) is VerdictWord.NO_EFFECT
    assert word(blocks, 1.0) is VerdictWord.REPLICATED, "no difference was claimed"


@pytest.mark.parametrize("machine", MACHINES)
def test_flat_levels_get_a_direction_in_at_most_one_sweep_of_twenty(machine: str) -> None:
    directed = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION, VerdictWord.CONTRADICTED}
    rng = np.random.default_rng(2)
    drawn = np.exp(randomised_blocks(MACHINES[machine], rng, runs=120, blocks=6, effects=(0.0,) * 6)).tolist()
    wrong = sum(any(word(blocks[:n], 0.6) in directed for n in range(1, 7)) for blocks in drawn)
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


def test_a_line_that_noise_bends_a_little_has_no_knee() -> None:
    assert knee([1.0, 2.0, 4.0], [100.0, 104.0, 100.0]) is None
    assert knee([1.0, 2.0, 4.0], [100.0, 106.0, 100.0]) == 1
