"""``pgclinic study run``: words -> studies -> plans -> the road of all experiments -> verdicts."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.experiment_run import fleet_of, run_shown
from pgclinic.cli.experiment_start import chosen_seed, info_of_new_run, say_what_is_made, with_block_mode
from pgclinic.cli.exports import STDOUT, check_places, write_exports
from pgclinic.cli.leftovers import say_cleaned, say_dropped
from pgclinic.cli.live import LiveView
from pgclinic.cli.resume import ResumeRequest, refuse_beside_resume, resume_study
from pgclinic.cli.study import StudyRunRequest
from pgclinic.cli.study_end import JudgedStudy, finish_study, study_export_texts, worst_exit_code
from pgclinic.cli.this_command import addresses_of
from pgclinic.errors import UsageError
from pgclinic.experiment.calibrate import DEFAULT_S
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.resolve import resolve
from pgclinic.experiment.road import start
from pgclinic.experiment.servers import ChosenServer, choose_server, refuse_unknown_versions
from pgclinic.live_export.live_export import exporting
from pgclinic.live_export.target import parse_targets
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import Profile, Study
from pgclinic.report.sections.answer.table import verdict_table
from pgclinic.settings.words import parse_settings
from pgclinic.store.machine import read_machine
from pgclinic.study.duration import OVERRUN_S, block_s, expected_s
from pgclinic.study.inheritance import profile_of
from pgclinic.study.read import read_study, shipped_studies

#: Options that may be written beside --resume.
_BESIDE_RESUME = frozenset({"names", "--blocks", "--dsn", "--pool-machines", "--fleet"})


@dataclass(frozen=True)
class _ChosenStudy:
    """A study with the text of its file, and the profile as this command runs it."""

    study: Study
    text: str
    profile: Profile
    profile_name: str


def run_studies(request: StudyRunRequest) -> int:
    """Run the named studies one after the other, or resume a run, and return the exit code of all verdicts.

    Everything that can be wrong with any study is found before the first one runs.
    """
    name = _profile_name(request)
    places = request.exports.places
    if STDOUT in places.values():
        raise UsageError("--junit and --markdown of a study take a file: stdout has its verdict")
    check_places(places, force=request.exports.force)
    if request.run.resume is not None or request.hosts.pool_machines:
        return worst_exit_code([resume_study(_resumed(request), request.names, as_json=request.as_json)])
    parse_targets(request.export)
    if request.blocks is not None:
        raise UsageError("--blocks needs --resume", hint="the profile of a study sets the number of blocks")
    if not request.names:
        raise UsageError("no study is named", hint="pgclinic study list shows the names")
    settings = parse_settings(request.settings)
    names = shipped_studies() if request.names == ("all",) else request.names
    studies = [_chosen(study, name, request) for study in names]
    for chosen in studies:
        refuse_shell_commands(chosen.study, chosen.profile, allowed=request.allow_shell)
    say_cleaned()
    judged = []
    for chosen in studies:
        judged.append(_run_study(chosen, settings, request))
        if len(studies) > 1:
            print(file=sys.stderr if request.as_json else sys.stdout)
    verdicts = [one.verdict for one in judged]
    if len(studies) > 1 and not request.as_json:
        print(verdict_table([chosen.study for chosen in studies], verdicts))
    write_exports(places, study_export_texts(judged))
    return worst_exit_code(verdicts)


def _profile_name(request: StudyRunRequest) -> str:
    if request.quick and request.full:
        raise UsageError("--quick and --full are mutually exclusive")
    if request.profile is not None and (request.quick or request.full):
        raise UsageError(f"--profile and {'--quick' if request.quick else '--full'} are mutually exclusive")
    return request.profile or ("full" if request.full else "quick")


def _resumed(request: StudyRunRequest) -> ResumeRequest:
    if request.run.resume is None:
        raise UsageError("--pool-machines needs --resume")
    refuse_beside_resume(request.run, _BESIDE_RESUME, "profile, seed, server and settings")
    return ResumeRequest(
        run=request.run.resume,
        blocks=request.blocks,
        budget=request.budget,
        dsns=(request.server.dsn,) if request.server.dsn is not None else (),
        hosts=request.hosts,
        allow_shell=request.allow_shell,
        plain=request.plain,
        export=request.export,
    )


def _chosen(name: str, profile_name: str, request: StudyRunRequest) -> _ChosenStudy:
    study, text = read_study(name)
    profile = profile_of(study, profile_name)
    if request.calibrate and profile.calibration_s == 0:
        profile = replace(profile, calibration_s=DEFAULT_S)
    if request.budget is not None:
        profile = _within(study, profile, request.budget)
    study = replace(study, profiles={**study.profiles, profile_name: profile})
    return _ChosenStudy(study, text, profile, profile_name)


def _within(study: Study, profile: Profile, budget: str) -> Profile:
    budget_s = parse_duration_s(budget, "--budget")
    if budget_s < expected_s(profile):
        raise UsageError(
            f"--budget {budget} holds {int(budget_s / block_s(profile))} blocks of {block_s(profile):.0f} s; "
            f"{study.name} needs at least {profile.blocks_min} for a verdict",
            hint=f"give it {in_words(expected_s(profile))} or more",
        )
    return replace(profile, budget_s=budget_s, overrun_s=OVERRUN_S)


def _run_study(chosen: _ChosenStudy, settings: dict[str, str], request: StudyRunRequest) -> JudgedStudy:
    addresses = addresses_of([request.server.dsn])
    say_dropped(addresses.values())
    about = {"kind": RunKind.STUDY.value, "name": chosen.study.name}
    with (
        LiveView(sys.stderr, plain=request.plain) as live,
        exporting(request.export, about, live.say) as export,
    ):
        refuse_unknown_versions(chosen.study)
        wanted = request.server.asked()
        server = choose_server(wanted, default_version=chosen.study.version, on_stage=live.stage)
        live.clear()
        plan = _planned(chosen, settings, server, request)
        prepare(plan, addresses, live.stage)
        calibration_s = chosen.profile.calibration_s
        info = info_of_new_run(RunKind.STUDY, plan, [server], addresses, settings=settings, calibration_s=calibration_s)
        fleet = fleet_of(request.hosts.fleet, addresses)
        experiment = start(plan, info, request.run.runs, fleet, chosen.text)
        verdict = run_shown(experiment, live, addresses, export)
    finish_study(experiment.folder, plan.study, verdict, as_json=request.as_json, dsns=addresses.values())
    return JudgedStudy(plan.study, verdict, experiment.folder.path)


def _planned(
    chosen: _ChosenStudy, settings: dict[str, str], server: ChosenServer, request: StudyRunRequest
) -> ExperimentPlan:
    """Return the plan of the study on this server and machine, after it was printed."""
    memory_bytes = read_machine().memory_bytes
    plan = resolve(
        chosen.study,
        chosen.profile_name,
        seed=chosen_seed(request.run),
        server=server.spec,
        major=server.major,
        memory_bytes=memory_bytes,
        settings=settings,
    )
    if not plan.study.questions:
        raise UsageError(f"PostgreSQL {server.major} on this machine can run no claim of {plan.study.name}")
    asked = None if plan.profile.interleaved else False
    plan, mode = with_block_mode(plan, memory_bytes, asked=asked)
    print(what_comes(plan, server.words), file=sys.stderr)
    if asked is None:
        print(mode, file=sys.stderr)
    say_what_is_made([server])
    return plan


def what_comes(plan: ExperimentPlan, server: str) -> str:
    """Return the two lines that a run begins with: what is tested, and on what, in which steps, for how long."""
    study, profile = plan.study, plan.profile
    arms = ", ".join(plan.arms)
    seconds = " + ".join(f"{profile.measure_s[arm]:g}" for arm in plan.arms)
    about = in_words(expected_s(profile))
    first = f" after an A/A calibration of {in_words(profile.calibration_s)}" if profile.calibration_s else ""
    return (
        f"{study.name}   {study.title}\n"
        f"{server} · arms {arms} · blocks of {seconds} s · seed {plan.seed} · about {about}{first}"
    )
