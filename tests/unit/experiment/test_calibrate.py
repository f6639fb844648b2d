"""A calibration before the blocks: which trials it runs, where they are kept, and what is said of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.doubts import TOO_SHORT
from fixtures.planned import judge, plan_of
from fixtures.records import blocks_of, global_counters, printed, run_info, trial
from pgclinic.experiment import road
from pgclinic.experiment.calibrate import calibrate
from pgclinic.experiment.execute import Listener
from pgclinic.fleet.here import BlockListener
from pgclinic.judge.doubts.run import doubts_of_run
from pgclinic.model.block import BlockRecord, BlockSpec
from pgclinic.model.calibration import Calibration, ClaimReach, RefusalKind, SliceSeen
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.event import SecondMeasured
from pgclinic.model.run import Second
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.sections.calibration.text import calibration_text
from pgclinic.store.run_folder import RunFolder, read_run
from pgclinic.study.in_profile import in_profile
from pgclinic.study.read import study_text

PROFILE = replace(global_counters().profiles["quick"], blocks_min=5, blocks_max=5, budget_s=1000.0)
STUDY = in_profile(global_counters(), PROFILE)
PLAN = plan_of(STUDY, PROFILE, seed=3)


class NoisyFleet:
    """TPS that wander by some per cent, other ones in each trial; ``held`` has its share of them."""

    capacity = 1

    def __init__(self, held: float = 0.6) -> None:
        self.draw = random.Random(1)
        self.held = held
        self.orders: list[TrialSpec] = []

    def stop(self) -> None:
        """It runs in the thread that asks."""

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        records = []
        for spec in block.trials:
            listener.on_event(SecondMeasured(second=second_of(spec)))
            records.append(self.answer(spec))
            listener.on_trial(records[-1])
        return BlockRecord(spec=block, trials=tuple(records))

    def answer(self, spec: TrialSpec) -> TrialRecord:
        self.orders.append(spec)
        level = 10_000.0 * (self.held if spec.arm == "held" else 1.0)
        tps = [level * self.draw.lognormvariate(0.0, 0.02) for _ in range(round(spec.load.measure_s or 0))]
        hits, pages = (142.0, 258) if spec.arm == "held" else (6.0, 3)
        return replace(trial(STUDY, spec.number, spec.block, spec.arm, tps, hits=hits, pages=pages), spec=spec)


def second_of(spec: TrialSpec) -> Second:
    return Second(
        trial=spec.number,
        block=spec.block,
        arm=spec.arm,
        second=0,
        tps=1000.0,
        failed=0,
        latency_us_p50=1,
        latency_us_p99=1,
    )


def folder_in(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "run", run_info(calibration_s=60.0), PLAN, study_text("global-counters"))


class EverySecondSlower(NoisyFleet):
    """Every second trial runs at ``share`` of the others, whatever its arm is."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def answer(self, spec: TrialSpec) -> TrialRecord:
        record = super().answer(spec)
        if len(self.orders) % 2 or record.load is None:
            return record
        tps = [self.share * second.transactions for second in record.load.seconds]
        return replace(trial(STUDY, spec.number, spec.block, spec.arm, tps), spec=spec)


@pytest.mark.parametrize(("share", "fails"), [(0.5, True), (0.8, True), (0.97, False)])
def test_a_gate_that_fails_makes_every_claim_invalid(tmp_path: Path, share: float, *, fails: bool) -> None:
    """Through the functions that the commands call; four trials with every second one at half speed used to pass."""
    fleet, folder = EverySecondSlower(share), folder_in(tmp_path)
    calibration = calibrate(PLAN, fleet, folder, Listener())
    assert (calibration.refusal is not None and calibration.refusal.kind is RefusalKind.ARMS_DIFFER) is fails
    doubts = doubts_of_run(run_info(), read_run(folder.path).calibration)
    assert [doubt.kind for doubt in doubts] == ([DoubtKind.CALIBRATION_FAILED] if fails else [])
    for trials in ((), blocks_of(STUDY, [0.6] * 5)):
        seen = judge(STUDY, trials, PROFILE, doubts).headline
        assert (seen.word is VerdictWord.INVALID) is fails
        assert (seen.invalid_because is InvalidReason.CALIBRATION_REFUSED) is fails


def test_six_trials_of_the_first_arm_come_before_the_blocks(tmp_path: Path) -> None:
    fleet, folder = NoisyFleet(), folder_in(tmp_path)
    calibration = calibrate(PLAN, fleet, folder, Listener())
    assert [(spec.number, spec.block, spec.arm, spec.load.measure_s) for spec in fleet.orders] == [
        (number, 0, "free", 15.0) for number in range(1, 7)
    ]
    assert calibration.refusal is None
    assert calibration.seconds == 6 * 14
    verdict = road.run(road.Experiment(PLAN, run_info(), folder, fleet), Listener())
    assert [spec.number for spec in fleet.orders] == list(range(1, 17))
    stored = read_run(folder.path)
    assert stored.calibration == calibration
    assert [one.spec.number for one in stored.calibration_trials] == [1, 2, 3, 4, 5, 6]
    assert [one.spec.number for one in stored.trials] == list(range(7, 17))
    assert {second.block for second in stored.seconds} == {1, 2, 3, 4, 5}
    assert judge(STUDY, stored.trials, PROFILE) == verdict
    assert verdict.trials_done == 10


def test_a_calibration_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    fleet, folder = NoisyFleet(), folder_in(tmp_path)
    calibrate(PLAN, fleet, folder, Listener(), calibration_s=96.0)
    stored = read_run(folder.path)
    again = NoisyFleet()
    calibration = calibrate(PLAN, again, folder, Listener(), calibration_s=96.0, done=stored.calibration_trials[:5])
    assert [(spec.number, spec.load.measure_s) for spec in again.orders] == [(7, 16.0)]
    assert calibration.trials == 6


def test_claims_that_are_not_about_tps_are_not_told_by_its_noise(tmp_path: Path) -> None:
    by_counter = replace(
        STUDY.claims[0],
        name="counted",
        measure="probe_pages",
        published=printed(1.01),
        region=None,
    )
    whole = replace(STUDY.claims[0], tail_s=None)
    study = replace(STUDY, claims=(whole, by_counter))
    calibration = calibrate(plan_of(study, PROFILE, seed=3), NoisyFleet(), folder_in(tmp_path), Listener())
    assert [reach.claim for reach in calibration.claims] == [whole.name]
    assert calibration.planned is not None
    assert calibration.planned.length_s == min(PROFILE.measure_s["free"], PROFILE.measure_s["held"])


def test_a_study_that_claims_a_counter_as_well_is_run_although_its_effect_is_too_small(tmp_path: Path) -> None:
    small = replace(STUDY.claims[0], published=printed(0.94), region=None)
    by_counter = replace(small, name="counted", measure="probe_pages")
    alone, both = (replace(STUDY, claims=claims) for claims in ((small,), (small, by_counter)))
    refused = calibrate(
        plan_of(alone, replace(PROFILE, claims=()), seed=3), NoisyFleet(), folder_in(tmp_path), Listener()
    )
    run = calibrate(plan_of(both, replace(PROFILE, claims=()), seed=3), NoisyFleet(), folder_in(tmp_path), Listener())
    assert refused.refusal is not None
    assert refused.refusal.kind is RefusalKind.CANNOT_BE_RESOLVED
    assert run.claims == refused.claims
    assert run.refusal is None


def test_the_words() -> None:
    seen = SliceSeen(length_s=10, deviation=0.031, cautious_deviation=0.04, pairs=4, pair_s=33.0, score=0.03)
    calibration = Calibration(
        trials=4,
        seconds=56,
        budget_s=300,
        switch_s=5,
        planned=seen,
        blocks=9,
        smallest_effect=0.0726,
        claims=(
            ClaimReach(claim="slower", effect=-0.51, resolvable=True, blocks_likely=5),
            ClaimReach(claim="hardly", effect=-0.01, resolvable=False, blocks_likely=None),
        ),
    )
    assert calibration_text(calibration).splitlines() == [
        "minimum detectable effect: 7 % in 5 min, 9 blocks, whose ratios differ by about 3 %",
        "  slower (0.60x): detectable after about 5 blocks",
        "  hardly (0.99x): too small to be detected here in that time",
    ]
    refused = Calibration(trials=1, seconds=3, budget_s=60, switch_s=0, refusal=TOO_SHORT)
    assert calibration_text(refused).splitlines() == [
        "not run: the A/A calibration measured 3 s in 1 trial, which is too little to show the noise",
        "  hint: give the A/A calibration six trials of 15 to 20 s",
    ]
    few = replace(calibration, smallest_effect=float("inf"), budget_s=90, claims=())
    assert calibration_text(few).startswith("no effect is detectable in 90 s")
