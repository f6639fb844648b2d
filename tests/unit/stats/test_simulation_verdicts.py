"""How often the procedure errs, how soon it sees, and why simpler ones will not do: on made-up noisy machines.

benches/verdict_simulations.py repeats these at size, beside the figures that they are held to.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.planned import judge
from fixtures.procedure import (
    blocks_beyond_the_null_zone,
    blocks_to_tell_apart,
    ground_for,
    interval_after,
    median_blocks,
    run_study,
)
from fixtures.records import blocks_of, global_counters
from fixtures.series import MACHINES, QUIET, SHARED, UGLY, Noise, log_ratios, log_tps, randomised_blocks
from pgclinic.judge.regions import ground_of
from pgclinic.judge.verdict import decided
from pgclinic.model.study import Profile
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.e_values import false_discoveries_held, log_e_value, log_e_value_of
from pgclinic.stats.page_trend_test import log_trend_e_value, page_trend
from pgclinic.stats.student_t import p_value_above, quantile

STUDIES = 200
BUDGET_BLOCKS = 30
WRONG_ON_EQUAL_ARMS = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION, VerdictWord.CONTRADICTED}


def studies(
    noise: Noise, seed: int, effect: float, *, runs: int = STUDIES, blocks: int = BUDGET_BLOCKS
) -> list[list[float]]:
    drawn = log_ratios(noise, np.random.default_rng(seed), runs=runs, blocks=blocks, effect=effect)
    return [[float(value) for value in row] for row in drawn]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("published", [0.6, 0.93, 1.3])
def test_equal_arms_get_a_wrong_word_in_at_most_one_study_of_twenty(machine: str, published: float) -> None:
    ground = ground_for(published)
    words = [run_study(row, ground).word for row in studies(MACHINES[machine], 1, 0.0)]
    assert sum(word in WRONG_ON_EQUAL_ARMS for word in words) / STUDIES <= 0.05


@pytest.mark.parametrize("machine", MACHINES)
def test_an_effect_on_the_edge_of_the_null_zone_is_seldom_called_one(machine: str) -> None:
    """The hardest case of a false claim: the arm is slower by just what counts as no difference."""
    words = [run_study(row, ground_for(0.7)).word for row in studies(MACHINES[machine], 13, -NULL_EFFECT)]
    good = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION}
    assert sum(word in good for word in words) / STUDIES <= 0.05


@pytest.mark.parametrize("machine", MACHINES)
def test_the_interval_leaves_the_truth_at_any_look_in_at_most_one_of_twenty(machine: str) -> None:
    """Stricter than a wrong word: the null zone does not help here."""
    wrong = 0
    for row in studies(MACHINES[machine], 2, -0.2):
        bounds = [interval_after(row[:n], fixed=False, horizon=BUDGET_BLOCKS) for n in range(4, len(row) + 1)]
        wrong += any(not low <= -0.2 <= high for low, high in bounds)
    assert wrong / STUDIES <= 0.05


def test_equal_arms_on_a_quiet_machine_are_shown_to_be_equal() -> None:
    ended = [run_study(row, ground_for(0.6)) for row in studies(QUIET, 3, 0.0)]
    assert sum(end.word is VerdictWord.NO_EFFECT for end in ended) / STUDIES >= 0.95
    assert median_blocks([end.blocks for end in ended]) <= 8


@pytest.mark.parametrize(
    ("machine", "effect", "least", "most"),
    [
        ("quiet", 0.03, 5, 8),
        ("quiet", 0.10, 5, 5),
        ("quiet", 0.30, 5, 5),
        ("shared", 0.03, 9, 18),
        ("shared", 0.10, 5, 6),
        ("shared", 0.30, 5, 5),
        ("ugly", 0.03, BUDGET_BLOCKS, math.inf),
        ("ugly", 0.10, 7, 12),
        ("ugly", 0.30, 5, 5),
    ],
)
def test_blocks_until_an_effect_is_seen(machine: str, effect: float, least: float, most: float) -> None:
    rows = studies(MACHINES[machine], 4, math.log(1 - effect))
    assert least <= median_blocks([blocks_to_tell_apart(row) for row in rows]) <= most


@pytest.mark.parametrize("machine", MACHINES)
def test_a_true_claim_of_thirty_per_cent_is_held_up(machine: str) -> None:
    rows = studies(MACHINES[machine], 5, math.log(0.7))
    ended = [run_study(row, ground_for(0.7)) for row in rows]
    good = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION}
    assert sum(end.word in good for end in ended) / STUDIES >= 0.95
    assert median_blocks([blocks_beyond_the_null_zone(row) for row in rows]) <= 6


def test_the_judge_follows_the_procedure_that_is_simulated_here() -> None:
    """Same words at the same looks, from whole trial records as from bare log ratios."""
    study = global_counters()
    ground = ground_of(study.claims[0])
    profile = Profile(warm_up_s=1, measure_s=dict.fromkeys(study.arms, 20.0), blocks_min=5, blocks_max=10, budget_s=1e6)
    seen = set()
    for effect in (0.0, math.log(study.claims[0].published_ratio)):
        for row in studies(SHARED, 6, effect, runs=6, blocks=10):
            trials = blocks_of(study, [math.exp(value) for value in row], control_tps=1e6)
            ended = run_study(row, ground)
            stop = next((n for n in range(5, 11) if decided(judge(study, trials[: 2 * n], profile))), None)
            assert stop == ended.blocks
            word = judge(study, trials[: 2 * (stop or 10)], profile).headline.word
            assert word is ended.word
            seen.add(word)
    assert len(seen) >= 2, "words must differ for this to show anything"


def test_seconds_are_no_samples() -> None:
    """Why not Welch's t test on the seconds of one run of each arm: it claims differences between equal arms."""
    rows = np.exp(log_tps(SHARED, 64, np.random.default_rng(7), runs=1000))
    one, other = rows[:, 2:32], rows[:, 34:64]
    error = np.sqrt(one.var(axis=1, ddof=1) / 30 + other.var(axis=1, ddof=1) / 30)
    t = (one.mean(axis=1) - other.mean(axis=1)) / error
    assert (np.abs(t) > quantile(0.975, 58)).mean() > 0.35


def test_a_plain_interval_must_not_be_peeked_at() -> None:
    rows = np.array(studies(QUIET, 8, 0.0, runs=1000, blocks=40))
    ever = np.zeros(len(rows), dtype=bool)
    for n in range(4, 41):
        part = rows[:, :n]
        ever |= np.abs(part.mean(axis=1)) > quantile(0.975, n - 1) * part.std(axis=1, ddof=1) / math.sqrt(n)
    assert 0.15 <= ever.mean() <= 0.40


def sweeps(noise: Noise, seed: int, fall: float, runs: int) -> list[list[list[float]]]:
    effects = tuple(math.log(1 - fall) * level / 5 for level in range(6))
    return randomised_blocks(noise, np.random.default_rng(seed), runs=runs, blocks=4, effects=effects).tolist()


@pytest.mark.parametrize(("noise", "least", "most"), [(SHARED, 0.98, 1.0), (UGLY, 0.65, 0.95)])
def test_a_sweep_of_six_levels_sees_a_fall_of_ten_per_cent(noise: Noise, least: float, most: float) -> None:
    seen = [page_trend(blocks, -1).p_value <= 0.05 for blocks in sweeps(noise, 9, 0.10, 150)]
    assert least <= np.mean(seen) <= most


@pytest.mark.parametrize("machine", MACHINES)
def test_a_flat_sweep_is_called_a_fall_as_often_as_it_says(machine: str) -> None:
    seen = [page_trend(blocks, -1).p_value <= 0.05 for blocks in sweeps(MACHINES[machine], 10, 0.0, 300)]
    assert np.mean(seen) <= 0.085


def test_a_flat_sweep_may_be_looked_at_after_every_block() -> None:
    wrong = 0
    for blocks in sweeps(SHARED, 11, 0.0, 200):
        wrong += any(log_trend_e_value(blocks[:n], -1) >= math.log(20) for n in range(1, 5))
    assert wrong / 200 <= 0.05


def test_e_bh_holds_the_share_of_false_claims() -> None:
    """Studies of ten claims, seven of them as false as the null zone allows, that stop when every claim is decided."""
    runs, blocks, false, true = 120, 12, 7, 3
    rng = np.random.default_rng(12)
    denied = ((-NULL_EFFECT, math.inf),)
    edge = log_ratios(SHARED, rng, runs=runs * false, blocks=blocks, effect=-NULL_EFFECT)
    fall = log_ratios(SHARED, rng, runs=runs * true, blocks=blocks, effect=-0.3)
    claims = np.concatenate([edge.reshape(runs, false, blocks), fall.reshape(runs, true, blocks)], axis=1)
    false_shares, found = [], []
    for rows in claims.tolist():
        ends = [blocks_beyond_the_null_zone(row) or blocks for row in rows]
        rejected = false_discoveries_held([log_e_value(row[: max(ends)], denied) for row in rows])
        false_shares.append(sum(rejected[:false]) / max(1, sum(rejected)))
        found.append(sum(rejected[false:]) / true)
    assert np.mean(false_shares) <= 0.05
    assert np.mean(found) >= 0.9


def test_false_discoveries_are_held_where_the_number_of_blocks_was_fixed() -> None:
    """The same with one look after five blocks: what p values are worth, as a study with fixed blocks weighs them."""
    runs, blocks, false, true = 150, 5, 7, 3
    rng = np.random.default_rng(14)
    edge = log_ratios(SHARED, rng, runs=runs * false, blocks=blocks, effect=-NULL_EFFECT)
    fall = log_ratios(SHARED, rng, runs=runs * true, blocks=blocks, effect=-0.3)
    claims = np.concatenate([edge.reshape(runs, false, blocks), fall.reshape(runs, true, blocks)], axis=1)
    false_shares, found = [], []
    for rows in claims.tolist():
        worth = [log_e_value_of(p_value_above([-value for value in row], NULL_EFFECT)) for row in rows]
        rejected = false_discoveries_held(worth)
        false_shares.append(sum(rejected[:false]) / max(1, sum(rejected)))
        found.append(sum(rejected[false:]) / true)
    assert np.mean(false_shares) <= 0.05
    assert np.mean(found) >= 0.9
