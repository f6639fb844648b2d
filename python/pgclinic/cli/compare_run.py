"""The road of ``pgclinic compare``: words -> a study with one open question -> the road of all studies -> an answer."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from pgclinic.cli.compare import CompareRequest, LengthOptions
from pgclinic.cli.compare_end import check_answer, finish_comparison
from pgclinic.cli.duration import in_words, parse_duration_or_none_s, parse_duration_s
from pgclinic.cli.experiment_run import fleet_of, run_shown
from pgclinic.cli.experiment_start import (
    check_on_twin,
    choose_servers,
    common_of,
    info_of_new_run,
    plan_of_all_arms,
    say_what_is_made,
    twin_wanted,
    with_block_mode,
)
from pgclinic.cli.leftovers import say_cleaned, say_dropped
from pgclinic.cli.live import LiveView
from pgclinic.cli.resume import ResumeRequest, refuse_beside_resume, resume_comparison
from pgclinic.cli.this_command import addresses_of, command_began_s, left_of
from pgclinic.errors import UsageError
from pgclinic.experiment.calibrate import DEFAULT_S
from pgclinic.experiment.on_twin import study_on_twin
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.road import Experiment, start
from pgclinic.experiment.servers import ChosenServer, ServerAsked, refuse_unknown_versions
from pgclinic.experiment.twin_check import CheckedTwin
from pgclinic.live_export.live_export import exporting
from pgclinic.live_export.target import parse_targets
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Profile, Study, WarmUpEnd
from pgclinic.model.trial import ServerSpec
from pgclinic.report.sections.twin.text import twin_summary_text
from pgclinic.stats.warm_up import LONGEST_S
from pgclinic.store.machine import read_machine
from pgclinic.study.compare import PROFILE, A, B, Length, comparison_study, from_study, in_time_left
from pgclinic.study.compare_arms import ArmAsked, parse_arm, read_arm_file
from pgclinic.study.duration import block_s
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.read import check_study, read_study
from pgclinic.trial.server import binaries_of
from pgclinic.twin.file import read_twin
from pgclinic.twin.wanted import TwinWanted
from pgclinic.whatif.arms_trial import fidelity_with_arms_tried
from pgclinic.whatif.migration_locks import migration_locks

BUDGET = "5m"
MEASURE = "10s"
#: A warm-up that ends by state takes twice as long as such a trial itself.
BUDGET_STEADY = "8m"
#: From this length on, what a calibration says is worth its time.
CALIBRATION_FROM_S = 240.0
#: Trying the difference of two arms on a twin's statements, before the blocks, takes no more than this.
TRIED_S_MAX, TRIED_SHARE = 20.0, 0.1
#: Options that may be written beside --resume: those of the answer, and addresses, as run folders store no passwords.
_BESIDE_RESUME = frozenset(
    {"--a", "--b", "--dsn", "--blocks", "--pool-machines", "--fleet", "--fail-if", "--strict", "--junit", "--markdown"}
    | {"--bencher", "--otava", "--force"}
)


@dataclass(frozen=True)
class ComparisonAsked:
    """The study, and which server each arm wants; addresses with their secrets stand here alone."""

    study: Study
    servers: Mapping[str, ServerAsked]
    length: Length


@dataclass(frozen=True)
class _Prepared:
    """All that a comparison needs before its first trial."""

    plan: ExperimentPlan
    servers: Mapping[str, ChosenServer]
    calibration_s: float


def run_comparison(request: CompareRequest) -> int:
    """Answer the question and return the exit code; all that can be wrong is found before anything is done."""
    if request.run.resume is not None or request.hosts.pool_machines:
        return resume_comparison(_resumed(request), request.answer)
    check_answer(request.answer)
    parse_targets(request.export)
    asked = _asked(request)
    check_study(asked.study, "compare")
    refuse_shell_commands(asked.study, asked.study.profiles[PROFILE], allowed=request.workload.allow_shell)
    addresses = addresses_of(server.dsn for server in asked.servers.values())
    say_cleaned()
    say_dropped(addresses.values())
    about = {"kind": RunKind.COMPARE.value, "name": asked.study.name}
    with (
        LiveView(sys.stderr, plain=request.plain) as live,
        exporting(request.export, about, live.say) as export,
    ):
        prepared = _prepared(request, asked, live)
        prepare(prepared.plan, addresses, live.stage)
        experiment = _started(request, asked.length, prepared, addresses)
        verdict = run_shown(experiment, live, addresses, export)
    return finish_comparison(experiment.folder, experiment.plan, verdict, request.answer, addresses.values())


def _prepared(request: CompareRequest, asked: ComparisonAsked, live: LiveView) -> _Prepared:
    """Choose the servers, check the twin, and return the plan, after it was printed."""
    refuse_unknown_versions(asked.study)
    twin = twin_wanted(request.workload, request.server.asked())
    servers = choose_servers(asked.servers, twin, live.stage)
    found = check_on_twin(twin, request.workload, servers.values(), live.stage)
    calibration_s = _calibration_s(asked.study.profiles[PROFILE], request.length)
    study = study_on_twin(asked.study, found) if found is not None else asked.study
    study = in_time_left(study, asked.length, _left_s(asked.length, calibration_s))
    fidelity = found.fidelity if found is not None else None
    live.clear()
    if fidelity is not None:
        print(twin_summary_text(fidelity), file=sys.stderr)
    plan = plan_of_all_arms(study, servers, request.run, fidelity)
    if twin is not None and found is not None and found.checked is not None:
        live.stage("plans of the statements on the twin")
        plan = structs.replace(plan, fidelity=_with_arms_tried(plan, found.checked, twin, asked.length))
        live.clear()
    if twin is not None:
        live.stage("locks of the migration on the twin")
        binaries = binaries_of(plan.arms[A].server)
        plan = structs.replace(plan, migration=migration_locks(binaries, plan.arms[A], plan.arms[B]))
        live.clear()
    plan, mode = with_block_mode(plan, read_machine().memory_bytes, asked=request.length.interleaved)
    _say_what_comes(plan, servers, mode)
    return _Prepared(plan, servers, calibration_s)


def _with_arms_tried(plan: ExperimentPlan, checked: CheckedTwin, twin: TwinWanted, length: Length) -> Fidelity:
    a, b = plan.arms[A], plan.arms[B]
    limit_s = min(TRIED_S_MAX, TRIED_SHARE * (length.budget_s or math.inf))
    return fidelity_with_arms_tried(checked, read_twin(twin.path), binaries_of(a.server), a, b, limit_s)


def _started(request: CompareRequest, length: Length, prepared: _Prepared, addresses: Mapping[str, str]) -> Experiment:
    """Return the experiment with what is left of its budget; its run folder is there from now on."""
    plan, until_s = prepared.plan, None
    if length.budget_s is not None:
        until_s = command_began_s() + length.budget_s
        left_s = _left_s(length, prepared.calibration_s)
        plan = plan.with_profile(structs.replace(plan.profile, budget_s=left_s))
    servers = tuple(prepared.servers.values())
    info = info_of_new_run(RunKind.COMPARE, plan, servers, addresses, calibration_s=prepared.calibration_s)
    info = structs.replace(info, fail_if=request.answer.fail_if, strict=request.answer.strict)
    return start(plan, info, request.run.runs, fleet_of(request.hosts.fleet, addresses, until_s))


def _resumed(request: CompareRequest) -> ResumeRequest:
    """Return what is resumed. Raises UsageError for options that would make it a different comparison."""
    if request.run.resume is None:
        raise UsageError("--pool-machines needs --resume")
    differences = [*request.a, *request.b]
    are_addresses = all(word.startswith("dsn=") for word in differences)
    refuse_beside_resume(
        request.run, _BESIDE_RESUME if are_addresses else frozenset(), "arms, length, seed and servers"
    )
    dsns = [word.removeprefix("dsn=") for word in differences]
    return ResumeRequest(
        run=request.run.resume,
        blocks=request.length.blocks,
        budget=request.length.budget,
        dsns=(*dsns, *((request.server.dsn,) if request.server.dsn is not None else ())),
        hosts=request.hosts,
        allow_shell=request.workload.allow_shell,
        plain=request.plain,
        export=request.export,
    )


# What is asked for


def _asked(request: CompareRequest) -> ComparisonAsked:
    length = _length(request.length)
    if len(request.files) == 1:
        return _from_study_file(request, length)
    arms = {name: parse_arm(words, f"--{name}") for name, words in _differences(request).items()}
    _refuse_default_script(request, arms)
    server = request.server.asked()
    of_data = replace(server, dsn=arms[A].dsn or server.dsn)
    common = common_of(request.workload, request.settings, of_data)
    study = comparison_study(arms[A], arms[B], common, length, time.strftime("%Y-%m-%d"))
    servers = {name: _server(server, version=arm.version, bindir=arm.bindir, dsn=arm.dsn) for name, arm in arms.items()}
    return ComparisonAsked(study, servers, length)


def _differences(request: CompareRequest) -> dict[str, tuple[str, ...]]:
    """Return the words about each arm, from the options or from two files."""
    differences = {A: request.a, B: request.b}
    if request.files:
        if len(request.files) > 2 or request.a or request.b:
            raise UsageError(
                "--from is given once, with a study file of two arms, or twice, with an arm each; it takes the place "
                "of --a and --b"
            )
        differences = {name: read_arm_file(path) for name, path in zip((A, B), request.files, strict=True)}
    if not any(differences.values()):
        raise UsageError(
            "there is nothing to compare", hint="write --a set:work_mem=4MB --b set:work_mem=64MB, or see --help"
        )
    return differences


def _refuse_default_script(request: CompareRequest, arms: Mapping[str, ArmAsked]) -> None:
    """Existing tables need a script that is made for them; the default one writes to pgbench's."""
    workload = request.workload
    own_data = workload.schema is not None or any(arm.schema is not None for arm in arms.values())
    if not request.server.existing or own_data or workload.scripts or workload.tpcc:
        return
    if not all(arm.scripts for arm in arms.values()):
        raise UsageError(
            "--existing needs --script: the default script writes to pgbench's tables",
            hint="write --script FILE, or --script builtin:select-only for pgbench's tables",
        )


def _server(common: ServerAsked, *, version: str | None, bindir: str | Path | None, dsn: str | None) -> ServerAsked:
    """Return an arm's own server, or that of both. What may be done to existing ones is said of both."""
    if version is None and bindir is None and dsn is None:
        return common
    return replace(common, version=version, bindir=Path(bindir) if bindir is not None else None, dsn=dsn)


def _from_study_file(request: CompareRequest, length: Length) -> ComparisonAsked:
    workload = request.workload
    given = [
        ("--a", request.a),
        ("--b", request.b),
        ("--script", workload.scripts),
        ("--schema", workload.schema),
        ("--tpcc", workload.tpcc),
        ("-c", workload.clients),
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
    study, common = from_study(read_study(file)[0], length), request.server.asked()
    own = {name: inherited_arm(study, None, name).server or ServerSpec() for name in study.arms}
    servers = {
        name: _server(common, version=spec.version, bindir=spec.bindir, dsn=spec.dsn) for name, spec in own.items()
    }
    return ComparisonAsked(study, servers, length)


# How long it takes


def _length(options: LengthOptions) -> Length:
    if options.blocks is not None and options.budget is not None:
        raise UsageError("--blocks and --budget are mutually exclusive: one sets the number, the other the time")
    steady = options.warm_up.strip() == WarmUpEnd.STEADY.value
    budget = options.budget or (BUDGET_STEADY if steady else BUDGET)
    return Length(
        warm_up_s=float(LONGEST_S) if steady else parse_duration_or_none_s(options.warm_up, "--warm-up"),
        warm_up_ends=WarmUpEnd.STEADY if steady else WarmUpEnd.TIME,
        measure_s=parse_duration_s(options.measure or MEASURE, "--measure"),
        blocks=options.blocks,
        budget_s=parse_duration_s(budget, "--budget") if options.blocks is None else None,
        may_shorten=options.measure is None,
    )


def _left_s(length: Length, calibration_s: float) -> float:
    """Return what is left of the budget for the blocks."""
    return max(1.0, left_of(length.budget_s or 0.0) - calibration_s)


def _calibration_s(profile: Profile, options: LengthOptions) -> float:
    """Return how long a runs against itself: not at all where the whole comparison takes hardly longer."""
    blocks_s = profile.blocks_max * block_s(profile)
    wanted = options.calibrate
    if wanted is None:
        wanted = min(blocks_s, profile.budget_s) >= CALIBRATION_FROM_S
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
