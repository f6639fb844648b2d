"""A calibration's word on the machine: what it can tell, and why it refuses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.procedure import blocks_beyond_the_null_zone
from fixtures.records import failed_trial, global_counters, printed, trial
from fixtures.series import QUIET, SHARED, UGLY, Noise, log_ratios, log_tps
from pgclinic.judge.calibration import calibration_of
from pgclinic.model.calibration import Calibration, RefusalKind
from pgclinic.model.study import Claim
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.refusals import refusal_words
from pgclinic.stats.calibration import smallest_effect

STUDY = global_counters()
CLAIM = STUDY.claims[0]


def claim(ratio: float, name: str = "claimed") -> Claim:
    return replace(CLAIM, name=name, published=printed(ratio), region=None)


def trials_of(rows: Sequence[Sequence[float]]) -> list[TrialRecord]:
    return [trial(STUDY, number, 1, "free", row) for number, row in enumerate(rows, start=1)]


def measured(
    noise: Noise, *, trials: int = 4, seconds: int = 16, seed: int = 1, restart: float = 0.0
) -> list[TrialRecord]:
    """Trials one after the other on one machine; ``restart`` is the spread of their levels."""
    rng = np.random.default_rng(seed)
    line = log_tps(noise, trials * (seconds + 3), rng)[0].reshape(trials, -1)[:, 3:]
    levels = rng.normal(0.0, restart, size=(trials, 1)) if restart else 0.0
    return trials_of((20_000 * np.exp(line + levels)).tolist())


def told(trials: Sequence[TrialRecord], *ratios: float, budget_s: float = 300) -> Calibration:
    return calibration_of([claim(ratio, f"claim {ratio}") for ratio in ratios], trials, budget_s=budget_s)


def test_a_quiet_machine_tells_a_tenth() -> None:
    calibration = told(measured(QUIET), 0.7, 0.9, 1.0)
    assert calibration.refusal is None
    assert calibration.trials == 4
    assert calibration.seconds == 4 * 15, "the first second of each trial is dropped"
    assert calibration.chosen is not None
    assert calibration.chosen.length_s >= 5
    assert calibration.smallest_effect is not None
    assert calibration.smallest_effect < math.log(1 / 0.9)
    assert [reach.resolvable for reach in calibration.claims] == [True, True, True]
    assert all(reach.blocks_likely is not None and reach.blocks_likely >= 5 for reach in calibration.claims)


def test_a_study_with_trials_of_its_own_length_is_told_by_its_tail() -> None:
    trials = measured(SHARED)
    short, long = replace(claim(0.7), tail_s=5), replace(claim(0.7), tail_s=60)
    advised = calibration_of([short], trials, budget_s=300)
    planned = calibration_of([short], trials, budget_s=300, block_s=50)
    assert planned.planned is not None
    assert planned.chosen == advised.chosen, "the advice stays"
    assert planned.planned.length_s == 5
    assert planned.blocks == 6
    assert planned.planned.deviation == planned.slices[0].deviation
    unseen = calibration_of([long], trials, budget_s=300, block_s=50)
    assert unseen.planned is not None
    assert unseen.planned.deviation == unseen.slices[-1].deviation, "as noisy as the longest that was seen"
    tiny = calibration_of([short], trials, budget_s=300, block_s=70)
    assert tiny.refusal is not None
    assert tiny.refusal.kind is RefusalKind.BUDGET_TOO_SMALL
    assert "350 s" in refusal_words(tiny.refusal).advice


def test_a_fixed_number_of_blocks_tells_more_and_needs_fewer() -> None:
    trials = measured(SHARED)
    claims = [replace(claim(0.8), tail_s=5)]
    looked = calibration_of(claims, trials, budget_s=300, block_s=50, blocks_max=5)
    fixed = calibration_of(claims, trials, budget_s=300, block_s=50, blocks_max=5, fixed=True)
    assert looked.smallest_effect is not None
    assert fixed.smallest_effect is not None
    assert (looked.blocks, fixed.blocks) == (5, 5)
    assert fixed.smallest_effect < looked.smallest_effect
    four = calibration_of(claims, trials, budget_s=200, block_s=50, blocks_max=4, fixed=True)
    assert four.refusal is None
    assert four.claims[0].blocks_likely == 4
    without = calibration_of(claims, trials, budget_s=200, block_s=50, blocks_max=4)
    assert without.refusal is not None
    assert without.refusal.kind is RefusalKind.BUDGET_TOO_SMALL
    short = calibration_of(claims, trials, budget_s=199, block_s=50, blocks_max=4, fixed=True)
    assert short.refusal is not None, "not all blocks fit, so the narrower interval does not hold"


def test_a_stall_of_a_second_is_noise_and_no_lack_of_events() -> None:
    rows = [[1000.0 + 10 * (-1) ** second for second in range(20)] for _ in range(3)]
    rows[1][9] = 0.0
    calibration = told(trials_of(rows), 0.3)
    assert calibration.refusal is None
    assert calibration.chosen is not None
    assert calibration.chosen.deviation > 0.05


def test_the_switch_is_what_trials_took_beyond_the_seconds_that_count() -> None:
    # Each record of the fixture says 1.8 s beside its load, and its first second is dropped.
    calibration = told(measured(QUIET), 0.7)
    assert calibration.switch_s == pytest.approx(2 * 2.8)
    assert calibration.chosen is not None
    assert calibration.chosen.pair_s == pytest.approx(2 * calibration.chosen.length_s + 5.6)
    assert calibration.blocks == int(300 / calibration.chosen.pair_s)


def test_noise_makes_small_claims_too_small() -> None:
    calibration = told(measured(UGLY), 0.95, 0.94)
    assert calibration.refusal is not None
    assert calibration.refusal.kind is RefusalKind.CANNOT_BE_RESOLVED
    assert "0.94x" in refusal_words(calibration.refusal).text
    assert "cannot be resolved here" in refusal_words(calibration.refusal).text
    assert [reach.blocks_likely for reach in calibration.claims] == [None, None]


def test_one_claim_that_can_be_told_is_worth_the_run() -> None:
    calibration = told(measured(UGLY), 0.95, 0.5)
    assert calibration.refusal is None
    assert [reach.resolvable for reach in calibration.claims] == [False, True]


def test_no_difference_is_harder_to_show_than_a_large_one() -> None:
    calibration = told(measured(UGLY), 1.0)
    assert calibration.refusal is not None
    assert calibration.refusal.kind is RefusalKind.CANNOT_BE_RESOLVED


def test_larger_effects_need_fewer_blocks_and_direction_does_not_matter() -> None:
    calibration = told(measured(SHARED), 0.5, 0.85, 1 / 0.85)
    large, small, mirrored = (reach.blocks_likely for reach in calibration.claims)
    assert large is not None
    assert small is not None
    assert large <= small == mirrored


def test_claims_are_told_from_the_smallest_effect_on_and_plans_are_cautious() -> None:
    least = told(measured(SHARED)).smallest_effect
    assert least is not None
    calibration = told(measured(SHARED), math.exp(-1.01 * least), math.exp(-0.99 * least))
    assert [reach.resolvable for reach in calibration.claims] == [True, False]
    assert calibration.planned is not None
    assert calibration.planned.cautious_deviation > 1.2 * calibration.planned.deviation
    assert least == smallest_effect(calibration.planned.cautious_deviation, calibration.blocks)


def test_restarts_that_change_the_level_are_seen() -> None:
    calm, moved = told(measured(QUIET, trials=12), 0.7), told(measured(QUIET, trials=12, restart=0.15), 0.7)
    assert calm.restart_deviation < 0.03
    assert moved.restart_deviation == pytest.approx(0.15, rel=0.5)
    assert moved.smallest_effect is not None
    assert calm.smallest_effect is not None
    assert moved.smallest_effect > 2 * calm.smallest_effect
    assert moved.chosen is not None
    assert moved.chosen.length_s == 5, "longer slices do not average restarts out"


def test_seconds_that_repeat_each_other_are_worth_less() -> None:
    independent = told(measured(Noise(carry=0.0, deviation=0.03), trials=8, seconds=30), 0.7).independent_share
    repeated = told(measured(Noise(carry=0.8, deviation=0.03), trials=8, seconds=30), 0.7).independent_share
    assert independent is not None
    assert repeated is not None
    assert repeated < 0.5 < independent


def test_a_second_trial_that_is_always_slower_fails_the_gate() -> None:
    rows = [[1000.0 * (1 + 0.01 * (-1) ** (pair + second)) for second in range(12)] for pair in range(10)]
    late = [[0.8 * tps for tps in row] if number % 2 else row for number, row in enumerate(rows)]
    calibration = told(trials_of(late), 0.2)
    assert calibration.refusal is not None
    assert calibration.refusal.kind is RefusalKind.ARMS_DIFFER
    assert "20 % slower" in refusal_words(calibration.refusal).text
    assert calibration.position_ratio == pytest.approx(0.8, rel=0.01)
    assert told(trials_of(rows), 0.2).refusal is None


@pytest.mark.parametrize("noise", [QUIET, SHARED, UGLY])
def test_the_gate_lets_equal_arms_pass(noise: Noise) -> None:
    refused = [told(measured(noise, trials=6, seconds=11, seed=seed), 0.05).refusal for seed in range(100)]
    assert sum(refusal is not None for refusal in refused) <= 3


def test_a_budget_that_holds_no_five_blocks_is_refused_with_the_least_that_does() -> None:
    calibration = told(measured(QUIET), 0.5, budget_s=40)
    assert calibration.refusal is not None
    assert calibration.refusal.kind is RefusalKind.BUDGET_TOO_SMALL
    assert calibration.chosen is None
    least = calibration.slices[0].pair_s * 5
    assert told(measured(QUIET), 0.5, budget_s=math.ceil(least)).refusal is None
    assert f"{math.ceil(least)} s" in refusal_words(calibration.refusal).advice


def test_trials_that_cannot_be_used() -> None:
    def kind(trials: Sequence[TrialRecord]) -> RefusalKind | None:
        refusal = told(trials, 0.5).refusal
        assert refusal is None or refusal_words(refusal).advice
        return refusal.kind if refusal else None

    assert kind([]) is RefusalKind.NO_TRIALS
    failed = failed_trial(STUDY, 1, 1, "free", "the port was taken")
    assert kind([failed]) is RefusalKind.NO_TRIALS
    assert kind(measured(QUIET, trials=2, seconds=10)) is RefusalKind.TOO_SHORT
    assert kind(trials_of([[2.0, 1.0, 3.0, 2.0] * 10])) is RefusalKind.TOO_FEW_EVENTS
    assert kind(trials_of([[900.0] * 20, [900.0] * 8 + [0.0] * 6 + [900.0] * 6])) is RefusalKind.TOO_FEW_EVENTS
    assert kind([replace(one, doubts=(starved(0.8),)) for one in measured(QUIET)]) is RefusalKind.STARVED_CPU
    assert kind([failed, *measured(QUIET)]) is None


def test_why_no_trial_went_well_is_told() -> None:
    refusal = told([failed_trial(STUDY, 1, 1, "free", "the port was taken")], 0.5).refusal
    assert refusal is not None
    assert "the port was taken" in refusal_words(refusal).text


def test_the_forecast_holds_for_the_study_that_follows() -> None:
    """On the machines of the calibrations, an effect of the smallest size is told in the budget more often than not."""
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(60):
        calibration = told(measured(SHARED, seed=seed), 0.5)
        assert calibration.chosen is not None
        assert calibration.smallest_effect is not None
        (row,) = log_ratios(
            SHARED,
            rng,
            runs=1,
            blocks=calibration.blocks,
            effect=-calibration.smallest_effect,
            slice_s=calibration.chosen.length_s,
            switch_s=round(calibration.switch_s / 2),
        ).tolist()
        held += blocks_beyond_the_null_zone(row) is not None
    assert held >= 40
