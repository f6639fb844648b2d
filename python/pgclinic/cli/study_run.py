"""``pgclinic study run``: words -> studies -> plans -> the road of all experiments -> verdicts."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.block_mode import with_block_mode
from pgclinic.cli.command_words import addresses_of, command_words
from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.experiment_run import SEEDS, fleet_of, run_shown
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.verdict import finish
from pgclinic.errors import UsageError
from pgclinic.experiment.calibrate import DEFAULT_S
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.resolve import resolve
from pgclinic.experiment.road import start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ServerAsked, choose_server, refuse_unknown_versions
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Profile, Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.verdict_table import verdict_table
from pgclinic.settings.words import parse_settings
from pgclinic.store.machine import read_machine
from pgclinic.study.duration import OVERRUN_S, block_s, expected_s
from pgclinic.study.inheritance import profile_of
from pgclinic.study.read import read_study, shipped_studies


@dataclass(frozen=True)
class Request:
    """What the command line asked for, as it was written there."""

    profile: str
    budget: str | None
    seed: int | None
    server: ServerAsked
    settings: tuple[str, ...]
    runs: Path
    as_json: bool
    allow_shell: bool = False
    fleet: str | None = None
    calibrate: bool = False


@dataclass(frozen=True)
class _Chosen:
    """A study with the text of its file, and the profile as this command runs it."""

    study: Study
    text: str
    profile: Profile


def run_studies(names: list[str], request: Request) -> list[Verdict]:
    """Run the named studies one after the other; everything that can be wrong with any is found before the first."""
    settings = parse_settings(request.settings)
    chosen = [_chosen(name, request) for name in (shipped_studies() if names == ["all"] else names)]
    for one in chosen:
        refuse_shell_commands(one.study, one.profile, allowed=request.allow_shell)
    say_cleaned()
    verdicts = []
    for one in chosen:
        verdicts.append(_run_study(one, settings, request))
        if len(chosen) > 1:
            print(file=sys.stderr if request.as_json else sys.stdout)
    if len(chosen) > 1 and not request.as_json:
        print(verdict_table([one.study for one in chosen], verdicts))
    return verdicts


def _chosen(name: str, request: Request) -> _Chosen:
    study, text = read_study(name)
    profile = profile_of(study, request.profile)
    if request.calibrate and profile.calibration_s == 0:
        profile = msgspec.structs.replace(profile, calibration_s=DEFAULT_S)
    if request.budget is not None:
        profile = _within(study, profile, request.budget)
    study = msgspec.structs.replace(study, profiles={**study.profiles, request.profile: profile})
    return _Chosen(study, text, profile)


def _within(study: Study, profile: Profile, budget: str) -> Profile:
    budget_s = parse_duration_s(budget, "--budget")
    if budget_s < expected_s(profile):
        raise UsageError(
            f"--budget {budget} holds {int(budget_s / block_s(profile))} blocks of {block_s(profile):.0f} s; "
            f"{study.name} needs at least {profile.blocks_min} for a verdict",
            hint=f"give it {in_words(expected_s(profile))} or more",
        )
    return msgspec.structs.replace(profile, budget_s=budget_s, overrun_s=OVERRUN_S)


def _run_study(chosen: _Chosen, settings: dict[str, str], request: Request) -> Verdict:
    seed = request.seed if request.seed is not None else random.SystemRandom().randrange(1, SEEDS)
    addresses, machine = addresses_of([request.server.dsn]), read_machine()
    say_dropped([request.server.dsn])
    with LiveLine(sys.stderr) as live:
        refuse_unknown_versions(chosen.study)
        server = choose_server(request.server, default_version=chosen.study.version, on_stage=live.stage)
        live.close()
        plan = resolve(
            chosen.study,
            request.profile,
            seed=seed,
            server=server.spec,
            major=server.major,
            memory_bytes=machine.memory_bytes,
            settings=settings,
        )
        if not plan.study.questions:
            raise UsageError(f"PostgreSQL {server.major} on this machine can run no claim of {plan.study.name}")
        asked = None if plan.profile.interleaved else False
        plan, mode = with_block_mode(plan, machine.memory_bytes, asked=asked)
        print(what_comes(plan, server.words), file=sys.stderr)
        if asked is None:
            print(mode, file=sys.stderr)
        say_what_is_made([server])
        prepare(plan, addresses, live.stage)
        info = new_run_info(
            RunKind.STUDY,
            plan,
            machine,
            command=command_words(addresses),
            server=server.words,
            wanted=server.spec,
            settings=settings,
            calibration_s=chosen.profile.calibration_s,
        )
        fleet = fleet_of(request.fleet, addresses)
        experiment = start(plan, info, request.runs, fleet, chosen.text)
        verdict = run_shown(experiment, live, addresses)
    finish(experiment.folder, plan.study, verdict, as_json=request.as_json, dsns=addresses.values())
    return verdict


def what_comes(plan: ExperimentPlan, server: str) -> str:
    """The two lines that a run begins with: what is tested, and on what, in which steps, for how long."""
    study, profile = plan.study, plan.profile
    arms = ", ".join(plan.arms)
    seconds = " + ".join(f"{profile.measure_s[arm]:g}" for arm in plan.arms)
    about = in_words(expected_s(profile))
    first = f" after an A/A calibration of {in_words(profile.calibration_s)}" if profile.calibration_s else ""
    return (
        f"{study.name}   {study.title}\n"
        f"{server} · arms {arms} · blocks of {seconds} s · seed {plan.seed} · about {about}{first}"
    )
