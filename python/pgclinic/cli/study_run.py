"""The road of ``pgclinic study run``: read, prepare, expand, run, judge, report."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pgclinic import __version__
from pgclinic.cli.attached_servers import how_to_resume, say_dropped, say_what_is_made
from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.verdict import finish
from pgclinic.errors import UsageError, WorkloadError
from pgclinic.fleet.here import Here
from pgclinic.lab.locks import directory_lock
from pgclinic.load.engine import build_info
from pgclinic.model.prelude import Prelude
from pgclinic.model.run import RunInfo, Tool
from pgclinic.model.study import Profile, Study
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.model.verdict import Verdict
from pgclinic.pg.setting_words import parse_settings
from pgclinic.report.prelude_text import prelude_text
from pgclinic.report.verdict_table import verdict_table
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.aa_run import DEFAULT_S, run_prelude
from pgclinic.study.expand import expand, profile_of
from pgclinic.study.expected import block_s, expected_s
from pgclinic.study.figures import count
from pgclinic.study.fitted import fitted, in_profile
from pgclinic.study.judge import judge
from pgclinic.study.prepare import Patient, choose_patient, prepare
from pgclinic.study.read import read_study, shipped_studies
from pgclinic.study.run import SoFar, StudyListener, run_blocks
from pgclinic.study.shell_commands import refuse_shell_commands
from pgclinic.study.trust import doubts_of_run

SEEDS = 10_000


@dataclass(frozen=True)
class Request:
    """What the command line asked for, as it was written there."""

    profile: str
    budget: str | None
    seed: int | None
    version: str | None
    bindir: Path | None
    dsn: str | None
    settings: tuple[str, ...]
    runs: Path
    as_json: bool
    allow_shell: bool = False
    prelude: bool = False
    existing: bool = False
    allow_writes: bool = False


@dataclass(frozen=True)
class Course:
    """All that the trials of one run need, and what the run has done so far.

    ``dsn`` has its secrets, and so have ``dsns``, the addresses of arms with servers of their own.
    """

    study: Study
    profile: Profile
    blocks: Sequence[tuple[TrialSpec, ...]]
    folder: RunFolder
    info: RunInfo
    dsn: str | None
    done: tuple[TrialRecord, ...] = ()
    prelude_done: tuple[TrialRecord, ...] = ()
    prelude: Prelude | None = None
    dsns: Mapping[str, str] = field(default_factory=dict)

    @property
    def fleet(self) -> Here:
        return Here(dsn=self.dsn, dsns=self.dsns)


def run_studies(names: list[str], request: Request) -> list[Verdict]:
    """Run the named studies one after the other; everything that can be wrong with any is found before the first."""
    settings = parse_settings(request.settings)
    studies = [read_study(name) for name in (shipped_studies() if names == ["all"] else names)]
    profiles = [_profile(study, request) for study, _ in studies]
    for (study, _), profile in zip(studies, profiles, strict=True):
        refuse_shell_commands(study, profile, allowed=request.allow_shell)
    say_cleaned()
    verdicts = []
    for (study, text), profile in zip(studies, profiles, strict=True):
        verdicts.append(_run_study(study, text, profile, settings, request))
        if len(studies) > 1:
            print(file=sys.stderr if request.as_json else sys.stdout)
    if len(studies) > 1 and not request.as_json:
        print(verdict_table([study for study, _ in studies], verdicts))
    return verdicts


def _profile(study: Study, request: Request) -> Profile:
    profile = profile_of(study, request.profile)
    if request.prelude and profile.prelude_s == 0:
        profile = msgspec.structs.replace(profile, prelude_s=DEFAULT_S)
    if request.budget is None:
        return profile
    budget_s = parse_duration_s(request.budget, "--budget")
    if budget_s < expected_s(profile):
        raise UsageError(
            f"--budget {request.budget} holds {int(budget_s / block_s(profile))} blocks of {block_s(profile):.0f} s; "
            f"{study.name} needs at least {profile.blocks_min} for a verdict",
            hint=f"give it {in_words(expected_s(profile))} or more",
        )
    return msgspec.structs.replace(profile, budget_s=budget_s)


def _run_study(study: Study, text: str, profile: Profile, extra_settings: dict[str, str], request: Request) -> Verdict:
    seed = request.seed if request.seed is not None else random.SystemRandom().randrange(1, SEEDS)
    say_dropped([request.dsn])
    with LiveLine(sys.stderr) as live:
        patient = choose_patient(
            study,
            version=request.version,
            bindir=request.bindir,
            dsn=request.dsn,
            existing=request.existing,
            allow_writes=request.allow_writes,
            on_stage=live.stage,
        )
        live.close()
        machine = read_machine()
        # The judge takes out by itself what this version lacks, and says so: it gets the whole.
        whole = in_profile(study, profile)
        study = fitted(whole, patient.major, profile, machine.memory_bytes).study
        if not study.claims:
            raise UsageError(f"PostgreSQL {patient.major} on this machine can run no claim of {study.name}")
        print(what_comes(study, profile, patient.words, seed), file=sys.stderr)
        say_what_is_made([patient])
        prepare(study, profile, patient, extra_settings, on_stage=live.stage, dsns=_dsns(request.dsn, patient))
        blocks = expand(study, profile, seed=seed, server=patient.wanted, extra_settings=extra_settings)
        info = _run_info(study, profile, patient, seed, request)
        folder = RunFolder.create(request.runs, f"{time.strftime('%Y-%m-%d')}-{study.name}-{seed}", info, text)
        verdict = measure(Course(whole, profile, blocks, folder, info, request.dsn), live)
    finish(folder, study, verdict, as_json=request.as_json)
    return verdict


def _dsns(dsn: str | None, patient: Patient) -> dict[str, str]:
    """The whole address by what is stored of it."""
    return {patient.wanted.dsn: dsn} if dsn is not None and patient.wanted.dsn is not None else {}


def measure(course: Course, live: LiveLine) -> Verdict:
    """The prelude, where there is one, and the blocks. What it says against the run stands in the verdict."""
    folder, info = course.folder, course.info
    with directory_lock(folder.path, wait=False) as alone:
        if not alone:
            raise UsageError(f"another command is writing {folder.path}")
        if info.resumed_epoch_us:
            _refuse_overtaken(course)
            folder.cut_torn_second()
            folder.write_info(info)
        try:
            prelude = course.prelude
            if info.prelude_s > 0 and prelude is None:
                prelude = _prelude(course, live)
            doubts = doubts_of_run(info, prelude)
            if prelude is not None and prelude.refusal is not None:
                return judge(course.study, course.done, course.profile, info.machine.memory_bytes, doubts)
            return run_blocks(
                course.study,
                course.profile,
                course.blocks,
                course.fleet,
                folder,
                StudyListener(on_progress=live.progress, on_trial=live.trial),
                info.machine.memory_bytes,
                SoFar(done=course.done, doubts=doubts),
            )
        except WorkloadError:
            live.close()
            print(f"what the trial recorded is kept in {folder.path}", file=sys.stderr)
            raise
        except BaseException:
            live.close()
            _say_what_is_kept(
                folder, "compare" if info.kind == "compare" else "study run", [course.dsn, *course.dsns.values()]
            )
            raise


def _refuse_overtaken(course: Course) -> None:
    """The run was read before it was locked; raise UsageError where another command has gone on with it in between."""
    if course.folder.finished() != len(course.done) + len(course.prelude_done):
        raise UsageError(f"another command went on with {course.folder.path} meanwhile", hint="resume it once more")


def _prelude(course: Course, live: LiveLine) -> Prelude:
    prelude = run_prelude(
        course.study,
        course.profile,
        course.blocks,
        course.fleet,
        course.folder,
        StudyListener(on_progress=live.progress, on_trial=live.trial),
        prelude_s=course.info.prelude_s,
        done=course.prelude_done,
    )
    live.close()
    print(prelude_text(prelude), file=sys.stderr)
    return prelude


def what_comes(study: Study, profile: Profile, server: str, seed: int) -> str:
    """The two lines that a run begins with: what is tested, and on what, in which steps, for how long."""
    arms = ", ".join(study.arms)
    seconds = " + ".join(f"{profile.measure_s[arm]:g}" for arm in study.arms)
    first = f" after a prelude of {in_words(profile.prelude_s)}" if profile.prelude_s else ""
    return (
        f"{study.name}   {study.title}\n"
        f"{server} · arms {arms} · blocks of {seconds} s · seed {seed} · about {in_words(expected_s(profile))}{first}"
    )


def _say_what_is_kept(folder: RunFolder, command: str, dsns: Iterable[str | None]) -> None:
    kept = folder.finished()
    print(f"{count(kept, 'finished trial')} {'is' if kept == 1 else 'are'} kept in {folder.path}", file=sys.stderr)
    if kept:
        print(f"  judge what there is: pgclinic study judge {folder.path}", file=sys.stderr)
    print(f"  resume it:           pgclinic {command} --resume {folder.path}", file=sys.stderr)
    more = how_to_resume(dsns)
    if more is not None:
        print(f"                       {more}", file=sys.stderr)


def _run_info(study: Study, profile: Profile, patient: Patient, seed: int, request: Request) -> RunInfo:
    engine = build_info()
    return RunInfo(
        command=_command_without_secrets(request),
        kind="study",
        name=study.name,
        seed=seed,
        profile=request.profile,
        budget_s=profile.budget_s,
        server=patient.words,
        started_epoch_us=time.time_ns() // 1000,
        machine=read_machine(),
        wanted=patient.wanted,
        settings=parse_settings(request.settings),
        prelude_s=profile.prelude_s,
        tool=Tool(
            pgclinic=__version__,
            engine=engine.version,
            engine_profile=engine.profile,
            python=".".join(str(part) for part in sys.version_info[:3]),
        ),
    )


def _command_without_secrets(request: Request) -> tuple[str, ...]:
    from pgclinic.pg.dsn import without_password

    if request.dsn is None:
        return ("pgclinic", *sys.argv[1:])
    safe = without_password(request.dsn)
    return ("pgclinic", *(word.replace(request.dsn, safe) for word in sys.argv[1:]))
