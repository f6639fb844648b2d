"""From the words of ``assay``, ``search`` and ``bisect`` to an experiment that is ready to run."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from pgclinic.cli.command_began import command_began_s, left_of
from pgclinic.cli.command_words import command_words
from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.experiment_run import SEEDS
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.tuning_options import Asked
from pgclinic.cli.workload import Data, Sessions, common_of, twin_wanted, warm_up_s
from pgclinic.errors import UsageError
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.on_twin import OnTwin, major_of, on_twin, study_on_twin
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.resume import with_machine
from pgclinic.experiment.road import Experiment, resume, start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_again, choose_server
from pgclinic.fleet.here import Here
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Condition, Study
from pgclinic.report.words.doubts import doubt_words
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.study.compare import PROFILE, A, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.study.read import check_study
from pgclinic.trial.server import binaries_of


def about(settings: Mapping[str, str]) -> str:
    """Settings in a line."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items()) or "nothing set"


@dataclass(frozen=True)
class Arm:
    """One configuration: its settings, the server that it needs where that is not the run's, what else goes on."""

    settings: Mapping[str, str]
    about: str
    server: ServerAsked | None = None
    condition: Condition | None = None


def new_experiment(
    kind: RunKind,
    asked: Asked,
    arms: Mapping[str, Arm],
    live: LiveLine,
    *,
    wants_plans: bool = False,
    as_original: bool = True,
    kept: Mapping[str, str] | None = None,
) -> Experiment:
    """Everything up to the first trial: servers, data, scripts and settings are checked and there.

    With ``as_original`` the arms have the settings of a twin's original below their own. ``kept`` is what a resumed run
    needs beside its arms.

    Raises UsageError, SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    study = _study(kind, asked, arms)
    check_study(study, kind.value)
    refuse_shell_commands(study, study.profiles[PROFILE], allowed=asked.allow_shell)
    say_cleaned()
    twin = twin_wanted(_data(asked), ServerAsked())
    original = major_of(twin) if twin is not None else None
    common = ServerAsked(version=asked.version, bindir=asked.bindir)
    servers = {
        name: choose_server(arm.server or common, default_version=original, on_stage=live.stage)
        for name, arm in arms.items()
    }
    found = None
    if twin is not None:
        specs = [binaries_of(server.spec) for server in servers.values()]
        own = bool(asked.scripts)
        found = on_twin(twin, specs, clients=asked.clients, own_scripts=own, on_stage=live.stage)
        study = study_on_twin(study, found if as_original else replace(found, settings={}))
    plan = _plan(study, servers, asked, found)
    plan = structs.replace(plan, wants_plans=wants_plans)
    prepare(plan, {}, live.stage)
    live.close()
    budget_s = parse_duration_s(asked.budget, "--budget")
    plan = plan.with_profile(structs.replace(plan.profile, budget_s=left_of(budget_s)))
    info = new_run_info(
        kind,
        plan,
        read_machine(),
        command=command_words({}),
        server=" and ".join(dict.fromkeys(server.words for server in servers.values())),
        wanted=next(iter(servers.values())).spec,
        settings=kept,
    )
    return start(plan, info, asked.runs, Here(until_s=command_began_s() + budget_s))


def resumed_experiment(kind: RunKind, path: Path, budget: str | None, live: LiveLine) -> tuple[Experiment, StoredRun]:
    """An interrupted run on the same machine. Raises UsageError for a run of another kind, machine or server."""
    stored = read_run(path)
    if stored.info.kind is not kind or stored.plan is None:
        raise UsageError(f"{path} is the run of pgclinic {stored.info.kind.value}")
    info = with_machine(stored.info, read_machine(), pool=False)
    info = structs.replace(info, resumed_epoch_us=(*info.resumed_epoch_us, time.time_ns() // 1000))
    if budget is not None:
        info = structs.replace(info, budget_s=parse_duration_s(budget, "--budget"))
    say_cleaned()
    for spec in dict.fromkeys(arm.server for arm in stored.plan.arms.values()):
        choose_again(spec, None, live.stage)
    prepare(stored.plan, {}, live.stage)
    live.close()
    experiment = resume(stored, stored.plan, info, Here())
    # An adaptive plan has no blocks to which it could be extended: its plan stays the stored one.
    return replace(experiment, plan=stored.plan), stored


def _study(kind: RunKind, asked: Asked, arms: Mapping[str, Arm]) -> Study:
    """As for a comparison, with these arms in place of its two."""
    common = common_of(
        asked.scripts,
        _data(asked),
        Sessions(asked.clients, asked.threads, asked.protocol),
        (),
        ServerAsked(version=asked.version, bindir=asked.bindir),
    )
    length = Length(
        warm_up_s=warm_up_s(asked.warm_up),
        measure_s=parse_duration_s(asked.measure, "--measure"),
        budget_s=parse_duration_s(asked.budget, "--budget"),
    )
    today = time.strftime("%Y-%m-%d")
    study = comparison_study(ArmAsked(), ArmAsked(), common, length, today)
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


def _data(asked: Asked) -> Data:
    return Data(asked.schema, asked.scale, asked.warehouses, asked.twin)


def _plan(study: Study, servers: Mapping[str, ChosenServer], asked: Asked, found: OnTwin | None) -> ExperimentPlan:
    """Raises UsageError where an arm does not fit into this machine."""
    plan = comparison_plan(
        study,
        servers,
        seed=asked.seed if asked.seed is not None else random.SystemRandom().randrange(1, SEEDS),
        memory_bytes=read_machine().memory_bytes,
        fidelity=found.fidelity if found is not None else None,
    )
    missing = [name for name in servers if name not in plan.arms]
    if missing:
        words = doubt_words(plan.left_out[0])
        raise UsageError(words.text, hint=words.advice)
    return plan


def say(text: str) -> None:
    print(text, file=sys.stderr)
