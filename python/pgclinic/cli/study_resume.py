"""``pgclinic study run --resume RUN``: the same study, seed, profile, server, order; what is done is not repeated."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.more_blocks import More, say_resumed
from pgclinic.cli.study_run import Course, measure
from pgclinic.cli.verdict import finish, say_strange
from pgclinic.errors import UsageError
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Study
from pgclinic.model.trial import ServerSpec
from pgclinic.model.verdict import Verdict
from pgclinic.pg.dsn import without_password
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run
from pgclinic.study.expand import expand, profile_of
from pgclinic.study.extend import as_run
from pgclinic.study.fitted import fitted, in_profile
from pgclinic.study.prepare import Patient, choose_patient, prepare
from pgclinic.study.read import parse_study, read_study
from pgclinic.study.resume import refuse_another_plan, with_machine
from pgclinic.study.shell_commands import refuse_shell_commands


@dataclass(frozen=True)
class ResumeRequest:
    """What the command line asked for. ``dsn`` is only needed where the run's own address had a password."""

    run: Path
    names: tuple[str, ...]
    more: More
    dsn: str | None
    pool_machines: bool
    as_json: bool
    allow_shell: bool = False


def resume_study(request: ResumeRequest) -> Verdict:
    """Take up a run that ended before its verdict, by whatever cause: a Ctrl-C, a kill, a full disk, a spent budget.

    Raises UsageError: no run of a study, another study's name, another machine or server, a run that is being written.
    """
    stored = read_run(request.run)
    say_strange(stored)
    wanted = _wanted(stored, request)
    study = parse_study(stored.study_toml, str(request.run / "study.toml"))
    planned = profile_of(as_run(study, stored.info), stored.info.profile)
    refuse_shell_commands(study, planned, allowed=request.allow_shell)
    info = request.more.asked_of(resumed_now(stored.info, pool_machines=request.pool_machines), planned, stored.trials)
    study = as_run(study, info)
    profile = profile_of(study, info.profile)
    say_cleaned()
    say_dropped([request.dsn or wanted.dsn])
    with LiveLine(sys.stderr) as live:
        patient = _patient(study, wanted, stored.info, request, live)
        whole = in_profile(study, profile)
        study = fitted(whole, patient.major, profile, info.machine.memory_bytes).study
        blocks = expand(study, profile, seed=info.seed, server=wanted, extra_settings=info.settings)
        refuse_another_plan(blocks, stored.trials)
        say_resumed(study.name, request.run, stored.trials, planned, profile)
        say_what_is_made([patient])
        dsns = {wanted.dsn: request.dsn or wanted.dsn} if wanted.dsn is not None else {}
        prepare(study, profile, patient, info.settings, on_stage=live.stage, dsns=dsns)
        folder = RunFolder(request.run)
        course = Course(
            study=whole,
            profile=profile,
            blocks=blocks,
            folder=folder,
            info=info,
            dsn=request.dsn or wanted.dsn,
            done=stored.trials,
            prelude_done=stored.prelude_trials,
            prelude=stored.prelude,
        )
        verdict = measure(course, live)
    finish(folder, study, verdict, as_json=request.as_json)
    return verdict


def _wanted(stored: StoredRun, request: ResumeRequest) -> ServerSpec:
    """The run's own server; every reason why it cannot be gone on with is found here."""
    info = stored.info
    if info.kind == "compare":
        raise UsageError(f"{request.run} is a comparison", hint=f"pgclinic compare --resume {request.run}")
    if info.kind != "study" or info.wanted is None:
        raise UsageError(
            f"{request.run} cannot be resumed: it is no run of a study, or one of an older pgclinic",
            hint=f"judge what there is: pgclinic study judge {request.run}",
        )
    for name in request.names:
        if read_study(name)[1] != stored.study_toml:
            raise UsageError(
                f"{request.run} is not a run of {name} as it is now",
                hint="leave the name out: the study is in the run folder",
            )
    if request.dsn is not None and without_password(request.dsn) != info.wanted.dsn:
        raise UsageError(f"{request.run} was begun on {info.server}, not on that --dsn")
    return info.wanted


def resumed_now(info: RunInfo, *, pool_machines: bool) -> RunInfo:
    """The run's info with this machine and this moment in it. Raises UsageError for another machine."""
    pooled = with_machine(info, read_machine(), pool=pool_machines)
    return replace(pooled, resumed_epoch_us=(*info.resumed_epoch_us, time.time_ns() // 1000))


def _patient(study: Study, wanted: ServerSpec, info: RunInfo, request: ResumeRequest, live: LiveLine) -> Patient:
    bindir = Path(wanted.bindir) if wanted.bindir is not None else None
    dsn = request.dsn or wanted.dsn
    patient = choose_patient(
        study,
        version=wanted.version,
        bindir=bindir,
        dsn=dsn,
        existing=wanted.existing,
        allow_writes=wanted.allow_writes,
        on_stage=live.stage,
    )
    live.close()
    if patient.words != info.server:
        raise UsageError(f"{request.run} was begun on {info.server}; here is {patient.words}")
    return patient
