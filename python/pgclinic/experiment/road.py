"""The road of every experiment from its plan to its verdict: start or resume, calibrate, execute, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from pgclinic.errors import UsageError
from pgclinic.experiment.budget import Budget
from pgclinic.experiment.calibrate import calibrate
from pgclinic.experiment.execute import Listener, execute
from pgclinic.experiment.extend import extended
from pgclinic.experiment.plan import CounterbalancedPlan, Plan
from pgclinic.experiment.progress import Countdown, ProgressView
from pgclinic.fleet.here import Fleet
from pgclinic.judge.comparison import compare
from pgclinic.judge.doubts.run import doubts_of_run
from pgclinic.judge.verdict import judge
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import Comparison
from pgclinic.model.event import ClaimJudged, VerdictReached
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.threshold import Threshold
from pgclinic.model.trial import TrialRecord
from pgclinic.model.tuning import Levels
from pgclinic.model.verdict import ClaimVerdict, Verdict
from pgclinic.store.directory_lock import ASKED_S, directory_lock
from pgclinic.store.run_folder import RunFolder, StoredRun


@dataclass(frozen=True)
class Experiment:
    """A plan, the folder that keeps its run, the fleet that runs its blocks, and what the run has so far."""

    plan: ExperimentPlan
    info: RunInfo
    folder: RunFolder
    fleet: Fleet
    done: tuple[TrialRecord, ...] = ()
    calibration_done: tuple[TrialRecord, ...] = ()
    calibration: Calibration | None = None


def start(
    plan: ExperimentPlan,
    info: RunInfo,
    runs: Path,
    fleet: Fleet,
    study_toml: str | None = None,
    levels: Levels | None = None,
) -> Experiment:
    """Make the run's folder below ``runs``, with its plan in it. Raises DiskFullError, RunFailedError."""
    name = f"{time.strftime('%Y-%m-%d')}-{info.name}-{info.seed}"
    folder = RunFolder.create(runs, name, info, plan, study_toml, levels)
    return Experiment(plan, info, folder, fleet)


def resume(stored: StoredRun, plan: ExperimentPlan, info: RunInfo, fleet: Fleet) -> Experiment:
    """The experiment of an earlier run with all that it has; ``info`` says how far it now may go."""
    return Experiment(
        plan=extended(plan, info),
        info=info,
        folder=RunFolder(stored.path),
        fleet=fleet,
        done=stored.trials,
        calibration_done=stored.calibration_trials,
        calibration=stored.calibration,
    )


def run(
    experiment: Experiment, listener: Listener, on_calibration: Callable[[Calibration], None] = lambda _: None
) -> Verdict:
    """Calibrate where that is asked for, run the blocks, and return the verdict. One command at a time writes a run.

    Raises UsageError: another command writes this run. Raises what ``execute`` raises; what has finished is stored.
    """
    folder, info = experiment.folder, experiment.info
    with _written_alone(experiment):
        calibration = experiment.calibration
        if info.calibration_s > 0 and calibration is None:
            calibration = calibrate(
                experiment.plan,
                experiment.fleet,
                folder,
                listener,
                calibration_s=info.calibration_s,
                done=experiment.calibration_done,
            )
            on_calibration(calibration)
        return _run_blocks(experiment, listener, calibration)


def _run_blocks(experiment: Experiment, listener: Listener, calibration: Calibration | None) -> Verdict:
    plan, folder, done = experiment.plan, experiment.folder, experiment.done
    doubts = doubts_of_run(experiment.info, calibration)
    if calibration is not None and calibration.refusal is not None:
        return judge(plan, done, doubts)

    def on_verdict(verdict: Verdict) -> None:
        folder.write_verdict(verdict)
        event = _reached(verdict)
        folder.add_event(event)
        listener.on_event(event)
        listener.on_verdict(plan.study, verdict)

    budget = Budget(plan, done, capacity=experiment.fleet.capacity)
    blocks = CounterbalancedPlan(
        plan,
        budget,
        done=done,
        last_number=folder.last_number(),
        beforehand=doubts,
        window_s=calibration.window_s if calibration is not None else None,
        on_verdict=on_verdict,
    )
    execute(blocks, experiment.fleet, folder, listener, ProgressView(budget), done)
    return blocks.verdict


def follow(experiment: Experiment, blocks: Plan, countdown: Countdown, listener: Listener) -> tuple[TrialRecord, ...]:
    """Run the blocks that an adaptive plan asks for, and return the records of all trials, earlier ones first.

    Its records are its only memory: what was done is told to it again, and it asks for what is still missing. Raises
    as ``run`` does.
    """
    with _written_alone(experiment):
        return execute(blocks, experiment.fleet, experiment.folder, listener, ProgressView(countdown), experiment.done)


@contextmanager
def _written_alone(experiment: Experiment) -> Iterator[None]:
    """One command at a time writes a run; a resumed one first says so. Raises UsageError."""
    folder, info = experiment.folder, experiment.info
    with directory_lock(folder.path, wait=False, patience_s=ASKED_S) as alone:
        if not alone:
            raise UsageError(f"another command is writing {folder.path}")
        if info.resumed_epoch_us:
            _refuse_overtaken(experiment)
            folder.cut_torn_event()
            folder.write_info(info)
        yield


def judge_stored(stored: StoredRun, plan: ExperimentPlan) -> Verdict:
    """The verdict on a stored run from its records alone, by its plan with the blocks to which it was extended.

    No server is needed, and nothing is written.
    """
    return judge(plan, stored.trials, doubts_of_run(stored.info, stored.calibration))


def compared_stored(
    stored: StoredRun, plan: ExperimentPlan, verdict: Verdict, thresholds: tuple[Threshold, ...] = ()
) -> Comparison:
    """What the run's trials say of a and b."""
    comparison = compare(
        plan.study,
        stored.trials,
        verdict,
        plan.profile,
        thresholds,
        stored.calibration,
        stored.info.blocks_fixed,
    )
    return structs.replace(comparison, fidelity=plan.fidelity, migration=plan.migration)


def _refuse_overtaken(experiment: Experiment) -> None:
    """The run was read before it was locked; raise UsageError where another command has resumed it in between."""
    if experiment.folder.finished() != len(experiment.done) + len(experiment.calibration_done):
        raise UsageError(
            f"another command has resumed {experiment.folder.path} in the meantime", hint="resume it again"
        )


def _reached(verdict: Verdict) -> VerdictReached:
    return VerdictReached(
        block=max((block.block for claim in verdict.claims for block in claim.blocks), default=0),
        claims=tuple(_judged(claim) for claim in verdict.claims),
        at_epoch_us=time.time_ns() // 1000,
    )


def _judged(claim: ClaimVerdict) -> ClaimJudged:
    interval = claim.interval
    if interval is None:
        return ClaimJudged(claim=claim.claim, word=claim.word.value)
    return ClaimJudged(
        claim=claim.claim, word=claim.word.value, ratio=interval.ratio, low=interval.low, high=interval.high
    )
