"""A change judged on a twin in blocks: as it is against changed, under the whole workload, as a run of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from pgclinic.errors import RunFailedError
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.on_twin import OnTwin, study_on_twin
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import run, start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ChosenServer
from pgclinic.experiment.stored import plan_of
from pgclinic.fleet.here import Fleet
from pgclinic.judge.comparison import compare
from pgclinic.judge.verdict import judge
from pgclinic.load.script_argument import parse_script
from pgclinic.model.compare import Comparison
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.run import RunKind
from pgclinic.model.study import Study, WorkloadChange
from pgclinic.model.transport import Transport
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import read_run
from pgclinic.study.compare import PROFILE, A, B, Common, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.whatif.trials_in_time import WARM_UP_S, Trials
from pgclinic.whatif.twin_change import TwinChange


class TooLittleMemoryError(RunFailedError):
    """This machine cannot run both arms."""


@dataclass(frozen=True)
class OtherArm:
    """A part of the change in an arm of its own, beside it in every block. ``fidelity`` is how closely the twin matches
    for what the rest of the change does."""

    name: str
    change: TwinChange
    fidelity: Fidelity | None = None


@dataclass(frozen=True)
class BlocksAsked:
    """One change on one twin, in ``share_s`` for all of it; ``others`` run in the same blocks.

    ``name`` is that of the study, ``title`` and ``about`` are its words; ``fidelity`` is how closely the twin matches.
    """

    dataset: TwinDataset
    on: OnTwin
    server: ChosenServer
    change: TwinChange
    name: str
    title: str
    about: str
    trials: Trials
    share_s: float
    warm_up_s: float = WARM_UP_S
    fidelity: Fidelity | None = None
    seed: int = 1
    others: tuple[OtherArm, ...] = ()


@dataclass(frozen=True)
class BlocksKept:
    """``runs`` takes the run; ``command`` is what made it, without secrets."""

    runs: Path
    command: tuple[str, ...]
    fleet: Fleet
    listener: Listener = field(default_factory=Listener)
    on_stage: Callable[[str], None] = field(default=lambda _: None)


def run_twin_blocks(asked: BlocksAsked, kept: BlocksKept) -> tuple[Comparison, Path]:
    """What the blocks say, and the folder of their run. What has finished is stored, whatever happens.

    Raises UsageError, RunFailedError; TooLittleMemoryError before anything has run.
    """
    began_s = time.monotonic()
    machine = read_machine()
    plan = comparison_plan(
        _study(asked),
        {A: asked.server, B: asked.server, **{other.name: asked.server for other in asked.others}},
        seed=asked.seed,
        memory_bytes=machine.memory_bytes,
        fidelity=asked.fidelity,
    )
    if not plan.study.questions:
        raise TooLittleMemoryError("this machine has too little memory for blocks")
    interleaved = why_sequential(plan, machine.memory_bytes) is None
    plan = plan.with_profile(replace(plan.profile, interleaved=interleaved))
    kept.on_stage(asked.title)
    prepare(plan, {}, kept.on_stage)
    # What preparing took is not there any more.
    left_s = max(1.0, plan.profile.budget_s - (time.monotonic() - began_s))
    plan = plan.with_profile(replace(plan.profile, budget_s=left_s))
    info = new_run_info(
        RunKind.COMPARE,
        plan,
        machine,
        command=kept.command,
        server=asked.server.words,
        wanted=asked.server.spec,
    )
    experiment = start(plan, info, kept.runs, kept.fleet)
    verdict = run(experiment, kept.listener)
    stored = read_run(experiment.folder.path)
    comparison = replace(compare(plan.study, stored.trials, verdict, plan.profile), fidelity=plan.fidelity)
    experiment.folder.write_comparison(comparison)
    return comparison, experiment.folder.path


def beside_others(asked: BlocksAsked, folder: Path) -> dict[str, Transport | None]:
    """The change against each of the other arms, by the arm's name, from the blocks of its run: server time of the
    change over that of the arm."""
    stored = read_run(folder)
    plan = plan_of(stored)
    found = {}
    for other in asked.others:
        question = replace(plan.study.questions[0], name=f"b-against-{other.name}", control=other.name)
        own = replace(plan, study=replace(plan.study, question=question), fidelity=other.fidelity)
        found[other.name] = judge(own, stored.trials).headline.transport
    return found


def _study(asked: BlocksAsked) -> Study:
    change = asked.change
    as_it_is = ArmAsked(settings=dict(change.before))
    treated = ArmAsked(
        settings=dict(change.settings), changes=tuple(f"{statement};" for statement in change.statements)
    )
    study = comparison_study(
        as_it_is,
        treated,
        Common(scripts=(), default_script=parse_script("builtin:tpcb-like"), twin=asked.dataset),
        Length(
            warm_up_s=asked.warm_up_s,
            measure_s=asked.trials.measure_s,
            blocks=asked.trials.blocks,
            # Rounding takes nothing from the fewest blocks that there is time for.
            budget_s=asked.share_s * 1.001,
        ),
        "",
    )
    treated_arm, profile = study.arms[B], study.profiles[PROFILE]
    others = {
        other.name: replace(
            treated_arm,
            workload=WorkloadChange(changes="\n".join(f"{statement};" for statement in other.change.statements)),
        )
        for other in asked.others
    }
    study = replace(
        study,
        arms={**study.arms, **others},
        profiles={
            PROFILE: replace(profile, measure_s={**profile.measure_s, **dict.fromkeys(others, asked.trials.measure_s)})
        },
    )
    study = study_on_twin(study, asked.on)
    return replace(
        study,
        name=asked.name,
        title=asked.title,
        about=asked.about,
        arms={
            A: replace(study.arms[A], about="as it is"),
            B: replace(study.arms[B], about=change.title),
            **{other.name: replace(study.arms[other.name], about=other.change.title) for other in asked.others},
        },
    )
