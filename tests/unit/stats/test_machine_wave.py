"""A wave that keeps step with the order of the arms gives no wrong word, and says so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import STARTED_US, blocks_of, global_counters, trial
from fixtures.series import SHARED, log_tps
from fixtures.wave_noise import levels_on, orders, wave_shares, waved
from pgclinic.model.doubt import DoubtKind, MachineWave
from pgclinic.model.study import Condition, Profile
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.words.doubts import doubt_words
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.machine_wave import EXPLAINED_MIN, HEIGHT_MIN, find_wave

STUDY = global_counters()
STEP_S, MEASURE_S = 12, 10
#: The orders of four blocks: the first two, then their mirror image.
LATER = (True, False, False, True)


def trials_on(
    height: float, period: float, *, blocks: int = 4, effect: float = 1.0, phase: float = 0.0
) -> tuple[TrialRecord, ...]:
    """Trials of 10 s, one every 12 s, on a machine whose speed is a sine with a period of so many trials; 2 % noise."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(2 * blocks):
        seconds = STEP_S * number + 2 + np.arange(MEASURE_S) + 0.5
        wave = height * np.sin(2 * math.pi * seconds / (period * STEP_S) + phase)
        block, position = divmod(number, 2)
        arm = "held" if LATER[block % 4] == bool(position) else "free"
        level = 10_000 * (effect if arm == "held" else 1.0)
        tps = level * np.exp(wave + rng.normal(0.0, 0.02, MEASURE_S))
        one = trial(STUDY, number + 1, block + 1, arm, [float(value) for value in tps], position=position + 1)
        assert one.load is not None
        begun_us = STARTED_US + (STEP_S * number + 2) * 1_000_000
        spec = replace(one.spec, condition=Condition())
        made.append(replace(one, spec=spec, load=replace(one.load, started_epoch_us=begun_us)))
    return tuple(made)


def judged(trials: tuple[TrialRecord, ...]) -> Verdict:
    blocks = len(trials) // 2
    profile = Profile(
        warm_up_s=1,
        measure_s=dict.fromkeys(STUDY.arms, 10.0),
        blocks_min=blocks,
        blocks_max=blocks,
        budget_s=1e6,
    )
    return judge(replace(STUDY, claims=(replace(STUDY.claims[0], mechanisms=()),)), trials, profile)


def beyond_margin(verdict: Verdict) -> bool:
    interval = verdict.headline.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return interval.low > math.exp(NULL_EFFECT) or interval.high < math.exp(-NULL_EFFECT)


def facts_of(verdict: Verdict) -> MachineWave | None:
    found = [doubt.facts for doubt in verdict.doubts if doubt.kind is DoubtKind.PERIODIC_NOISE]
    assert all(isinstance(one, MachineWave) for one in found)
    return found[0] if found and isinstance(found[0], MachineWave) else None


def test_a_wave_that_meets_an_arm_in_the_same_phase_is_found_and_gives_no_difference() -> None:
    """The blocks alone show one: 30 % up and down once in seven trials, in a phase that favours one arm."""
    phases = np.linspace(0.0, 2.0 * math.pi, 24, endpoint=False)
    verdicts = [judged(trials_on(0.3, 7.0, phase=float(phase))) for phase in phases]
    assert not any(beyond_margin(verdict) for verdict in verdicts)
    alone = [judged(tuple(at_one_time(one) for one in trials_on(0.3, 7.0, phase=float(phase)))) for phase in phases]
    assert any(beyond_margin(one) for one in alone), "else the wave does no harm and this shows nothing"
    for seen in map(facts_of, verdicts):
        assert seen is not None
        assert seen.period_s == pytest.approx(7 * STEP_S, rel=0.1)
        assert seen.swing == pytest.approx(math.expm1(0.3), rel=0.15)
        assert seen.ratio == pytest.approx(1.0, abs=0.08)


def at_one_time(one: TrialRecord) -> TrialRecord:
    """Without the times that a wave is found by."""
    assert one.load is not None
    return replace(one, load=replace(one.load, started_epoch_us=STARTED_US))


def test_its_words_say_how_long_and_how_high_it_is() -> None:
    verdict = judged(trials_on(0.3, 7.0))
    doubt = next(one for one in verdict.doubts if one.kind is DoubtKind.PERIODIC_NOISE)
    words = doubt_words(doubt)
    assert words.label == "Periodic noise"
    assert "TPS of both arms rose and fell together by 3" in words.text
    assert " %" in words.text
    assert words.advice


def test_a_difference_between_the_arms_is_no_wave_and_stays() -> None:
    """Also on a machine that has one."""
    quiet, waving = (judged(trials_on(height, 7.0, blocks=8, effect=0.6)) for height in (0.0, 0.2))
    assert facts_of(quiet) is None
    assert facts_of(waving) is not None
    for seen in (quiet, waving):
        assert beyond_margin(seen)
        interval = seen.headline.interval
        assert interval is not None
        assert interval.low is not None
        assert interval.low <= 0.6 <= (interval.high or 0.0)


def test_trials_without_times_or_halves_show_no_wave() -> None:
    assert facts_of(judged(blocks_of(STUDY, [0.6, 0.9, 0.5, 0.8]))) is None
    assert facts_of(judged(tuple(at_one_time(one) for one in trials_on(0.3, 7.0)))) is None


@pytest.mark.parametrize(("blocks", "most"), [(4, 0.11), (6, 0.04)])
def test_noise_of_a_shared_machine_is_seldom_taken_for_a_wave(blocks: int, most: float) -> None:
    rng = np.random.default_rng(5)
    levels = levels_on(log_tps(SHARED, 24 * blocks, rng, runs=1500))
    found = waved(levels, orders(rng, 1500, blocks))
    assert ((found.explained >= EXPLAINED_MIN) & (found.height >= HEIGHT_MIN)).mean() <= most


@pytest.mark.parametrize("period", [2.5, 3, 5, 7, 8, 9])
def test_a_wave_of_any_period_gives_a_wrong_word_in_at_most_one_run_of_twenty(period: float) -> None:
    wrong, _ = wave_shares(np.random.default_rng(6), runs=300, blocks=5, period=period, height=0.3, fixed=True)
    assert wrong <= 0.05


def test_simulations_fit_the_same_wave_as_the_verdict() -> None:
    """Theirs fits many runs at once."""
    rng, blocks = np.random.default_rng(7), 5
    seconds = 0.3 * np.sin(2 * math.pi * np.arange(24 * blocks) / 60.0) + log_tps(SHARED, 24 * blocks, rng, runs=5)
    levels, later = levels_on(seconds), orders(rng, 5, blocks)
    many = waved(levels, later)
    for run in range(5):
        is_arm = [bool(later[run, block]) == bool(position) for block in range(blocks) for position in (0, 1)]
        at_s = [STEP_S * one + 2 + middle for one in range(2 * blocks) for middle in (2.5, 7.5)]
        alone = find_wave(at_s, levels[run].ravel().tolist(), [one for one in is_arm for _ in (0, 1)], 2 * blocks)
        assert alone is not None
        assert alone.explained == pytest.approx(many.explained[run])
        assert alone.height == pytest.approx(many.height[run])
        taken = [alone.at(moment) for moment in at_s]
        assert np.reshape(taken, (-1, 2)).mean(axis=1) == pytest.approx(many.level[run])
