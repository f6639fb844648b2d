"""``pgclinic compare --resume RUN``: the same two arms, seed, servers and order; what is done is not repeated."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.compare_end import Ending, finish_comparison
from pgclinic.cli.compare_run import patients_words
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.more_blocks import More, say_resumed
from pgclinic.cli.study_resume import resumed_now
from pgclinic.cli.study_run import Course, measure
from pgclinic.cli.verdict import say_strange
from pgclinic.errors import UsageError
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Study
from pgclinic.model.trial import ServerSpec
from pgclinic.pg.dsn import without_password
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run
from pgclinic.study.compare import PROFILE, A, B
from pgclinic.study.expand import expand
from pgclinic.study.extend import as_run
from pgclinic.study.prepare import Patient, choose_patient, prepare
from pgclinic.study.read import parse_study
from pgclinic.study.resume import refuse_another_plan
from pgclinic.study.shell_commands import refuse_shell_commands


@dataclass(frozen=True)
class ResumeRequest:
    """What the command line asked for. ``dsns`` are only needed where an arm's own address had a password."""

    run: Path
    dsns: tuple[str, ...]
    more: More
    pool_machines: bool
    ending: Ending
    allow_shell: bool = False


def resume_comparison(request: ResumeRequest) -> int:
    """Take up a comparison that ended before its answer, and give the exit code.

    Raises UsageError: no run of a comparison, another machine or server, a run that is being written.
    """
    request.ending.check()
    stored = _stored(request.run)
    study = parse_study(stored.study_toml, str(request.run / "study.toml"))
    refuse_shell_commands(study, study.profiles[PROFILE], allowed=request.allow_shell)
    secrets = _secrets(study, request)
    planned = as_run(study, stored.info).profiles[PROFILE]
    info = request.more.asked_of(resumed_now(stored.info, pool_machines=request.pool_machines), planned, stored.trials)
    study = as_run(study, info)
    say_cleaned()
    say_dropped(secrets.values())
    with LiveLine(sys.stderr) as live:
        course = _course(request, stored, study, info, secrets, live)
        live.close()
        say_resumed("compare", request.run, stored.trials, planned, course.profile)
        verdict = measure(course, live)
    return finish_comparison(course.folder, study, verdict, request.ending)


def _course(
    request: ResumeRequest,
    stored: StoredRun,
    study: Study,
    info: RunInfo,
    secrets: Mapping[str, str],
    live: LiveLine,
) -> Course:
    """What was planned then, on the servers of then, with what is done of it."""
    patients = {name: _patient(study, name, info, secrets, live) for name in (A, B)}
    live.close()
    words = patients_words(patients)
    if words != info.server:
        raise UsageError(f"{request.run} was begun on {info.server}; here is {words}")
    profile = study.profiles[PROFILE]
    blocks = expand(study, profile, seed=info.seed, server=patients[A].wanted, extra_settings={})
    refuse_another_plan(blocks, stored.trials)
    say_what_is_made(patients.values())
    prepare(study, profile, patients[A], {}, on_stage=live.stage, dsns=secrets)
    return Course(
        study=study,
        profile=profile,
        blocks=blocks,
        folder=RunFolder(request.run),
        info=info,
        dsn=None,
        done=stored.trials,
        prelude_done=stored.prelude_trials,
        prelude=stored.prelude,
        dsns=secrets,
    )


def _stored(run: Path) -> StoredRun:
    stored = read_run(run)
    say_strange(stored)
    if stored.info.kind != "compare":
        raise UsageError(
            f"{run} is no comparison", hint=f"pgclinic study run --resume {run}, if it is the run of a study"
        )
    return stored


def _secrets(study: Study, request: ResumeRequest) -> dict[str, str]:
    """The whole address of every attached server by what is stored of it."""
    stored = {arm.dsn for arm in study.arms.values() if arm.dsn is not None}
    given = {without_password(dsn): dsn for dsn in request.dsns}
    for safe in given:
        if safe not in stored:
            raise UsageError(f"{request.run} was begun on {' and '.join(sorted(stored)) or 'no --dsn'}, not on {safe}")
    return {dsn: given.get(dsn, dsn) for dsn in stored}


def _patient(study: Study, name: str, info: RunInfo, secrets: Mapping[str, str], live: LiveLine) -> Patient:
    arm, wanted = study.arms[name], info.wanted or ServerSpec()
    bindir = Path(arm.bindir) if arm.bindir is not None else None
    dsn = secrets[arm.dsn] if arm.dsn is not None else None
    return choose_patient(
        study,
        version=arm.version,
        bindir=bindir,
        dsn=dsn,
        existing=wanted.existing,
        allow_writes=wanted.allow_writes,
        on_stage=live.stage,
    )
