"""From the options of ``assay``, ``search`` and ``bisect`` to an experiment that is ready to run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from pgclinic.cli.duration import parse_duration_or_none_s, parse_duration_s
from pgclinic.cli.experiment_start import (
    check_on_twin,
    choose_servers,
    common_of,
    info_of_new_run,
    plan_of_all_arms,
    twin_wanted,
)
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.options.tuning import TuningOptions
from pgclinic.cli.resume import refuse_beside_resume, resumed_now
from pgclinic.cli.this_command import command_began_s, left_of
from pgclinic.errors import UsageError
from pgclinic.experiment.on_twin import study_on_twin
from pgclinic.experiment.prepare import prepare, refuse_shell_commands, refuse_stored_shell_commands
from pgclinic.experiment.road import Experiment, resume, start
from pgclinic.experiment.servers import ServerAsked, choose_again
from pgclinic.fleet.here import Here
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Condition, Study
from pgclinic.model.tuning import Levels
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.study.compare import PROFILE, A, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.study.read import check_study


@dataclass(frozen=True)
class TuningArm:
    """One configuration: its settings, in a line ``about`` them, its server, and what else goes on."""

    settings: Mapping[str, str]
    about: str
    server: ServerAsked
    condition: Condition | None = None


def about(settings: Mapping[str, str]) -> str:
    """Return settings in a line."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items()) or "nothing set"


def new_experiment(
    kind: RunKind,
    options: TuningOptions,
    arms: Mapping[str, TuningArm],
    live: LiveView,
    *,
    wants_plans: bool = False,
    as_original: bool = True,
    kept: Mapping[str, str] | None = None,
    levels_of: Callable[[ExperimentPlan], Levels] | None = None,
) -> Experiment:
    """Return the experiment up to its first trial: servers, data, scripts and settings are checked and there.

    With ``as_original`` the arms have the settings of a twin's original below their own. ``kept`` is what a resumed run
    needs beside its arms. ``levels_of`` finds what a search tries, before there is a run.

    Raises UsageError, SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    workload, run = options.workload, options.run
    study = _study(kind, options, arms)
    check_study(study, kind.value)
    refuse_shell_commands(study, study.profiles[PROFILE], allowed=workload.allow_shell)
    say_cleaned()
    twin = twin_wanted(workload, ServerAsked())
    servers = choose_servers({name: arm.server for name, arm in arms.items()}, twin, live.stage)
    found = check_on_twin(twin, workload, servers.values(), live.stage)
    if found is not None:
        study = study_on_twin(study, found if as_original else replace(found, settings={}))
    plan = plan_of_all_arms(study, servers, run, found.fidelity if found is not None else None)
    plan = structs.replace(plan, wants_plans=wants_plans)
    prepare(plan, {}, live.stage)
    live.clear()
    budget_s = parse_duration_s(options.budget, "--budget")
    plan = plan.with_profile(structs.replace(plan.profile, budget_s=left_of(budget_s)))
    info = info_of_new_run(kind, plan, tuple(servers.values()), {}, settings=kept)
    levels = levels_of(plan) if levels_of is not None else None
    return start(plan, info, run.runs, Here(until_s=command_began_s() + budget_s), levels=levels)


def resumed_experiment(
    kind: RunKind, options: TuningOptions, live: LiveView, *, beside: Collection[str] = ()
) -> tuple[Experiment, StoredRun]:
    """Return the run of --resume on the same machine, with a new budget if one is given.

    ``beside`` are the options that may be written beside --resume. Raises UsageError for others, and for a run of
    another kind, machine or server.
    """
    path = options.run.resume
    assert path is not None
    refuse_beside_resume(options.run, (*beside, "--allow-shell"), "settings, servers and workload")
    stored = read_run(path)
    if stored.info.kind is not kind or stored.plan is None:
        raise UsageError(f"{path} is the run of pgclinic {stored.info.kind.value}")
    refuse_stored_shell_commands(stored.plan, allowed=options.workload.allow_shell)
    info = resumed_now(stored.info, pool=False)
    if "--budget" in options.run.written:
        info = structs.replace(info, budget_s=parse_duration_s(options.budget, "--budget"))
    say_cleaned()
    for spec in dict.fromkeys(arm.server for arm in stored.plan.arms.values()):
        choose_again(spec, None, live.stage)
    prepare(stored.plan, {}, live.stage)
    live.clear()
    experiment = resume(stored, stored.plan, info, Here())
    # An adaptive plan has no blocks to which it could be extended: its plan stays the stored one.
    return replace(experiment, plan=stored.plan), stored


def _study(kind: RunKind, options: TuningOptions, arms: Mapping[str, TuningArm]) -> Study:
    """Return the study of a comparison with these arms in place of its two."""
    length = Length(
        warm_up_s=parse_duration_or_none_s(options.warm_up, "--warm-up"),
        measure_s=parse_duration_s(options.measure, "--measure"),
        budget_s=parse_duration_s(options.budget, "--budget"),
    )
    common = common_of(options.workload, (), ServerAsked())
    study = comparison_study(ArmAsked(), ArmAsked(), common, length, time.strftime("%Y-%m-%d"))
    model, profile = study.arms[A], study.profiles[PROFILE]
    named = {
        name: structs.replace(model, about=arm.about, settings=dict(arm.settings), condition=arm.condition)
        for name, arm in arms.items()
    }
    question = study.question
    assert question is not None
    first, last = next(iter(arms)), list(arms)[-1]
    return structs.replace(
        study,
        name=kind.value,
        title=f"pgclinic {kind.value}",
        about="Nothing is claimed about any of the arms.",
        arms=named,
        profiles={PROFILE: structs.replace(profile, measure_s=dict.fromkeys(named, length.measure_s))},
        question=structs.replace(question, arm=last, control=first),
    )
