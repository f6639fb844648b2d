"""The road of ``pgclinic compare``: words -> a study with one open question -> the road of all studies -> an answer."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.block_mode import with_block_mode
from pgclinic.cli.command_began import command_began_s, left_of
from pgclinic.cli.command_words import addresses_of, command_words
from pgclinic.cli.compare_end import Ending, finish_comparison
from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.experiment_run import SEEDS, fleet_of, run_shown
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.workload import Data, Sessions, common_of, twin_wanted, warm_up_s
from pgclinic.errors import UsageError
from pgclinic.experiment.calibrate import DEFAULT_S
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.on_twin import OnTwin, major_of, on_twin, study_on_twin
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.road import start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server, refuse_unknown_versions
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Profile, Study, WarmUpEnd
from pgclinic.report.twin_text import twin_summary_text
from pgclinic.report.words.doubts import doubt_words
from pgclinic.stats.warm_up import LONGEST_S
from pgclinic.store.machine import read_machine
from pgclinic.study.compare import PROFILE, A, B, Length, comparison_study, from_study, in_time_left
from pgclinic.study.compare_arms import ArmAsked, parse_arm, read_arm_file
from pgclinic.study.duration import block_s
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.read import check_study, read_study
from pgclinic.trial.server import binaries_of
from pgclinic.twin.wanted import TwinWanted

BUDGET = "5m"
MEASURE = "10s"
#: A warm-up that ends by state takes twice as long as such a trial itself.
BUDGET_STEADY = "8m"
#: From this length on, what a calibration says is worth its time.
CALIBRATION_FROM_S = 240.0


@dataclass(frozen=True)
class Lasting:
    """How long it may take, in the user's words; what is None no option says."""

    warm_up: str
    measure: str | None
    blocks: int | None
    budget: str | None
    calibrate: bool | None


@dataclass(frozen=True)
class Request:
    """What the command line asked for, as it was written there."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    files: tuple[Path, ...]
    scripts: tuple[str, ...]
    data: Data
    sessions: Sessions
    settings: tuple[str, ...]
    server: ServerAsked
    lasting: Lasting
    seed: int | None
    ending: Ending
    runs: Path
    allow_shell: bool = False
    interleaved: bool | None = None
    fleet: str | None = None


@dataclass(frozen=True)
class Asked:
    """The study, and which server each arm wants; addresses with their secrets live here alone."""

    study: Study
    servers: Mapping[str, ServerAsked]
    length: Length


def run_comparison(request: Request) -> int:
    """Answer the question and give the exit code; all that can be wrong is found before anything is done."""
    request.ending.check()
    asked = _asked(request)
    check_study(asked.study, "compare")
    refuse_shell_commands(asked.study, asked.study.profiles[PROFILE], allowed=request.allow_shell)
    addresses = addresses_of(server.dsn for server in asked.servers.values())
    say_cleaned()
    say_dropped(addresses.values())
    with LiveLine(sys.stderr) as live:
        refuse_unknown_versions(asked.study)
        twin = twin_wanted(request.data, request.server)
        original = major_of(twin) if twin is not None else None
        servers = {
            name: choose_server(asked.servers[name], default_version=original, on_stage=live.stage) for name in (A, B)
        }
        found = _on_twin(twin, servers, request, live.stage)
        calibration_s = _calibration_s(asked.study.profiles[PROFILE], request)
        study = study_on_twin(asked.study, found) if found is not None else asked.study
        study = in_time_left(study, asked.length, _left_s(asked.length, calibration_s))
        fidelity = found.fidelity if found is not None else None
        live.close()
        if fidelity is not None:
            print(twin_summary_text(fidelity), file=sys.stderr)
        machine = read_machine()
        plan, mode = with_block_mode(
            _plan(study, servers, request, fidelity),
            machine.memory_bytes,
            asked=request.interleaved,
        )
        _say_what_comes(plan, servers, mode)
        prepare(plan, addresses, live.stage)
        if asked.length.budget_s is not None:
            plan = plan.with_profile(structs.replace(plan.profile, budget_s=_left_s(asked.length, calibration_s)))
        started = new_run_info(
            RunKind.COMPARE,
            plan,
            machine,
            command=command_words(addresses),
            server=" and ".join(dict.fromkeys(server.words for server in servers.values())),
            wanted=servers[A].spec,
            calibration_s=calibration_s,
        )
        info = structs.replace(started, fail_if=request.ending.fail_if, strict=request.ending.strict)
        until_s = command_began_s() + asked.length.budget_s if asked.length.budget_s is not None else None
        fleet = fleet_of(request.fleet, addresses, until_s)
        experiment = start(plan, info, request.runs, fleet)
        verdict = run_shown(experiment, live, addresses)
    return finish_comparison(experiment.folder, plan, verdict, request.ending, addresses.values())


def _on_twin(
    twin: TwinWanted | None, servers: Mapping[str, ChosenServer], request: Request, on_stage: Callable[[str], None]
) -> OnTwin | None:
    if twin is None:
        return None
    return on_twin(
        twin,
        [binaries_of(servers[name].spec) for name in (A, B)],
        clients=request.sessions.clients,
        own_scripts=bool(request.scripts),
        on_stage=on_stage,
    )


def _plan(
    study: Study, servers: Mapping[str, ChosenServer], request: Request, fidelity: Fidelity | None
) -> ExperimentPlan:
    """Raises UsageError where an arm does not fit into this machine: a comparison needs both."""
    plan = comparison_plan(
        study,
        servers,
        seed=request.seed if request.seed is not None else random.SystemRandom().randrange(1, SEEDS),
        memory_bytes=read_machine().memory_bytes,
        fidelity=fidelity,
    )
    if not plan.study.questions:
        words = doubt_words(plan.left_out[0])
        raise UsageError(words.text, hint=words.advice)
    return plan


def _asked(request: Request) -> Asked:
    length = _length(request.lasting)
    if len(request.files) == 1:
        return _from_study_file(request, length)
    pairs = {A: request.a, B: request.b}
    if request.files:
        if len(request.files) > 2 or request.a or request.b:
            raise UsageError(
                "--from is given once, with a study file of two arms, or twice, with an arm each; it takes the place "
                "of --a and --b"
            )
        pairs = {name: read_arm_file(path) for name, path in zip((A, B), request.files, strict=True)}
    if not any(pairs.values()):
        raise UsageError(
            "there is nothing to compare", hint="write --a set:work_mem=4MB --b set:work_mem=64MB, or see --help"
        )
    arms = {name: parse_arm(words, f"--{name}") for name, words in pairs.items()}
    _refuse_default_script(request, arms)
    server = replace(request.server, dsn=arms[A].dsn or request.server.dsn)
    common = common_of(request.scripts, request.data, request.sessions, request.settings, server)
    study = comparison_study(arms[A], arms[B], common, length, time.strftime("%Y-%m-%d"))
    return Asked(study, {name: _server(arm, request.server) for name, arm in arms.items()}, length)


def _refuse_default_script(request: Request, arms: Mapping[str, ArmAsked]) -> None:
    """Existing tables need a script that is made for them; the default one writes to pgbench's."""
    own_data = request.data.schema is not None or any(arm.schema is not None for arm in arms.values())
    if not request.server.existing or own_data or request.scripts or request.data.warehouses is not None:
        return
    if not all(arm.scripts for arm in arms.values()):
        raise UsageError(
            "--existing needs --script: the default script writes to pgbench's tables",
            hint="write --script FILE, or --script builtin:select-only for pgbench's tables",
        )


def _server(arm: ArmAsked, common: ServerAsked) -> ServerAsked:
    """The arm's own, or that of both. What may be done to existing ones is said of both."""
    if arm.version is None and arm.bindir is None and arm.dsn is None:
        return common
    bindir = Path(arm.bindir) if arm.bindir is not None else None
    return replace(common, version=arm.version, bindir=bindir, dsn=arm.dsn)


def _from_study_file(request: Request, length: Length) -> Asked:
    given = [
        ("--a", request.a),
        ("--b", request.b),
        ("--script", request.scripts),
        ("--schema", request.data.schema),
        ("--tpcc", request.data.warehouses),
        ("-c", request.sessions.clients),
        ("--set", request.settings),
    ]
    for option, value in given:
        if value:
            raise UsageError(
                f"{option} and --from with a study file are mutually exclusive: the file has the whole study"
            )
    file = str(request.files[0])
    if not file.endswith(".toml"):
        raise UsageError(f"--from {file}: a study file ends in .toml")
    study = from_study(read_study(file)[0], length)
    return Asked(study, {name: _server_of_file(study, name, request.server) for name in study.arms}, length)


def _server_of_file(study: Study, name: str, common: ServerAsked) -> ServerAsked:
    own = inherited_arm(study, None, name).server
    if own is None:
        return common
    bindir = Path(own.bindir) if own.bindir is not None else None
    return replace(common, version=own.version, bindir=bindir, dsn=own.dsn)


def _length(lasting: Lasting) -> Length:
    if lasting.blocks is not None and lasting.budget is not None:
        raise UsageError("--blocks and --budget are mutually exclusive: one sets the number, the other the time")
    steady = lasting.warm_up.strip() == WarmUpEnd.STEADY.value
    budget = lasting.budget or (BUDGET_STEADY if steady else BUDGET)
    return Length(
        warm_up_s=float(LONGEST_S) if steady else warm_up_s(lasting.warm_up),
        warm_up_ends=WarmUpEnd.STEADY if steady else WarmUpEnd.TIME,
        measure_s=parse_duration_s(lasting.measure or MEASURE, "--measure"),
        blocks=lasting.blocks,
        budget_s=parse_duration_s(budget, "--budget") if lasting.blocks is None else None,
        may_shorten=lasting.measure is None,
    )


def _left_s(length: Length, calibration_s: float) -> float:
    """What is left of the budget for the blocks."""
    return max(1.0, left_of(length.budget_s or 0.0) - calibration_s)


def _calibration_s(profile: Profile, request: Request) -> float:
    """A minute of a against itself, unless the whole comparison takes hardly longer."""
    blocks_s = profile.blocks_max * block_s(profile)
    asked = request.lasting.calibrate
    wanted = asked if asked is not None else min(blocks_s, profile.budget_s) >= CALIBRATION_FROM_S
    return DEFAULT_S if wanted else 0.0


def _say_what_comes(plan: ExperimentPlan, servers: Mapping[str, ChosenServer], mode: str) -> None:
    profile = plan.profile
    words = [f"{name}: {servers[name].words}, {plan.study.arms[name].about}" for name in (A, B)]
    if profile.blocks_fixed is not None:
        long = f"{profile.blocks_fixed} blocks, about {in_words(profile.blocks_fixed * block_s(profile))}"
    else:
        long = f"up to {in_words(profile.budget_s)}, less if the answer is clear before"
    print("\n".join([*words, f"blocks of {block_s(profile):.0f} s · {long} · seed {plan.seed}", mode]), file=sys.stderr)
    say_what_is_made(servers.values())
