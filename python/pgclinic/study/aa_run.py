"""Run the A/A prelude of a study: a few trials of its first arm, kept as block 0, and what they tell of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.fleet.here import Fleet
from pgclinic.model.prelude import Prelude, RefusalKind
from pgclinic.model.progress import Progress
from pgclinic.model.run import Second
from pgclinic.model.study import Claim, Profile, Study
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.blocks import TPS
from pgclinic.study.broken_script import refuse_broken
from pgclinic.study.expected import block_s
from pgclinic.study.prelude import GATE_PAIRS, prelude_of
from pgclinic.study.run import StudyListener
from pgclinic.trial.run import TrialListener

#: Three pairs: with fewer the gate, which compares the later with the earlier trial of each, has nothing to say.
TRIALS = 2 * GATE_PAIRS

#: Six trials of 15 s: what a calibration takes that is asked for without a length.
DEFAULT_S = 90.0


def run_prelude(
    study: Study,
    profile: Profile,
    blocks: Sequence[Sequence[TrialSpec]],
    fleet: Fleet,
    folder: RunFolder,
    listener: StudyListener,
    *,
    prelude_s: float = DEFAULT_S,
    done: Sequence[TrialRecord] = (),
) -> Prelude:
    """Measure the first arm for ``prelude_s`` seconds and store what that tells; ``done`` are trials of it so far."""
    trials = list(done)
    while len(trials) < TRIALS:
        spec = _order(study, blocks[0], folder.last_number() + 1, prelude_s / TRIALS)
        record = _run_one(replace(spec, position=len(trials) + 1), fleet, folder, listener)
        folder.add_trial(record)
        refuse_broken(record, trials)
        trials.append(record)
        listener.on_trial(record)
    prelude = prelude_of(
        _told_by_tps(study, profile),
        trials,
        budget_s=profile.budget_s,
        block_s=block_s(profile),
        blocks_max=profile.blocks_max,
        fixed=profile.blocks_min == profile.blocks_max,
    )
    prelude = _with_other_claims(prelude, study)
    folder.write_prelude(prelude)
    return prelude


def _order(study: Study, block: Sequence[TrialSpec], number: int, measure_s: float) -> TrialSpec:
    first = next(arm for arm in study.arms if any(spec.arm == arm for spec in block))
    spec = next(spec for spec in block if spec.arm == first)
    return replace(spec, number=number, block=0, load=replace(spec.load, measure_s=measure_s))


def _run_one(spec: TrialSpec, fleet: Fleet, folder: RunFolder, listener: StudyListener) -> TrialRecord:
    seen = Progress(
        block=spec.position, blocks=TRIALS, arm=f"{spec.arm} against itself", stage="starting", calibration=True
    )

    def on_stage(name: str) -> None:
        nonlocal seen
        seen = replace(seen, stage=name)
        listener.on_progress(seen)

    def on_second(second: Second) -> None:
        nonlocal seen
        seen = replace(seen, stage="measuring", tps=(*seen.tps, second.tps))
        folder.add_second(second)
        listener.on_progress(seen)

    return fleet.run(spec, TrialListener(on_stage=on_stage, on_second=on_second))


def _with_other_claims(prelude: Prelude, study: Study) -> Prelude:
    """A counter can be told however much the TPS vary: a study that claims one is worth the run."""
    refusal = prelude.refusal
    if refusal is None or refusal.kind is not RefusalKind.CANNOT_BE_RESOLVED:
        return prelude
    return replace(prelude, refusal=None) if any(claim.measure != TPS for claim in study.claims) else prelude


def _told_by_tps(study: Study, profile: Profile) -> tuple[Claim, ...]:
    """The claims whose noise is that of the TPS; a whole trial is the tail of a claim that names none."""
    return tuple(
        replace(claim, tail_s=claim.tail_s or min(profile.measure_s[claim.arm], profile.measure_s[claim.control]))
        for claim in study.claims
        if claim.measure == TPS
    )
