"""The A/A calibration: a few trials of a run's first arm, kept as block 0, and what they say about the machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from pgclinic.experiment.execute import Listener, execute
from pgclinic.experiment.plan import trial_of
from pgclinic.experiment.progress import ProgressView
from pgclinic.fleet.here import Fleet
from pgclinic.judge.calibration import GATE_PAIRS, calibration_of
from pgclinic.judge.evidence import TPS
from pgclinic.model.block import BlockSpec
from pgclinic.model.calibration import Calibration, RefusalKind
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.block_order import load_seed
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.duration import block_s

#: Three pairs: with fewer the gate, which compares the later with the earlier trial of each, has nothing to say.
TRIALS = 2 * GATE_PAIRS

#: Six trials of 15 s: what a calibration takes that is asked for without a length.
DEFAULT_S = 90.0


class CalibrationPlan:
    """So many trials of one arm, one after the other, each a block 0 of its own."""

    def __init__(self, plan: ExperimentPlan, measure_s: float, last_number: int) -> None:
        self._plan = plan
        self._measure_s = measure_s
        self._number = last_number

    def next_block(self, records: Sequence[TrialRecord], running: Collection[int] = ()) -> BlockSpec | None:
        if len(records) >= TRIALS or running:
            return None
        self._number += 1
        name = next(iter(self._plan.arms))
        spec = trial_of(
            self._plan.arms[name],
            name,
            number=self._number,
            block=0,
            position=len(records) + 1,
            seed=load_seed(self._plan.seed, 1),
            wants_plans=self._plan.wants_plans,
        )
        return BlockSpec(number=0, trials=(replace(spec, load=replace(spec.load, measure_s=self._measure_s)),))


def calibrate(
    plan: ExperimentPlan,
    fleet: Fleet,
    folder: RunFolder,
    listener: Listener,
    *,
    calibration_s: float = DEFAULT_S,
    done: Sequence[TrialRecord] = (),
) -> Calibration:
    """Measure the first arm for ``calibration_s`` seconds and store what that says; ``done`` are its trials so far."""
    trials = execute(
        CalibrationPlan(plan, calibration_s / TRIALS, folder.last_number()),
        fleet,
        folder,
        listener,
        ProgressView(trials=TRIALS),
        done,
    )
    profile = plan.profile
    calibration = calibration_of(
        _claims_about_tps(plan),
        trials,
        budget_s=profile.budget_s,
        block_s=block_s(profile),
        blocks_max=profile.blocks_max,
        fixed=profile.blocks_fixed is not None,
    )
    calibration = _with_other_claims(calibration, plan)
    folder.write_calibration(calibration)
    return calibration


def _with_other_claims(calibration: Calibration, plan: ExperimentPlan) -> Calibration:
    """A counter can be resolved however much the TPS vary: a study with a claim about one is worth the run."""
    refusal = calibration.refusal
    if refusal is None or refusal.kind is not RefusalKind.CANNOT_BE_RESOLVED:
        return calibration
    about_counters = any(claim.measure != TPS for claim in plan.study.questions)
    return replace(calibration, refusal=None) if about_counters else calibration


def _claims_about_tps(plan: ExperimentPlan) -> tuple[Question, ...]:
    """The claims whose noise is that of the TPS; a whole trial is the tail of a claim that names none."""
    measure_s = plan.profile.measure_s
    return tuple(
        replace(claim, tail_s=claim.tail_s or min(measure_s[claim.arm], measure_s[claim.control]))
        for claim in plan.study.questions
        if claim.measure == TPS
    )
