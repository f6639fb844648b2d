"""``--resume RUN`` of studies and comparisons: the plan of the run, its servers; what is done is not repeated."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.command_words import addresses_of
from pgclinic.cli.compare_end import Ending, finish_comparison
from pgclinic.cli.experiment_run import command_of, fleet_of, run_shown
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.more_blocks import More, say_resumed
from pgclinic.cli.verdict import finish, say_strange
from pgclinic.errors import UsageError
from pgclinic.experiment.extend import extended
from pgclinic.experiment.prepare import prepare, refuse_shell_commands
from pgclinic.experiment.resume import with_machine
from pgclinic.experiment.road import Experiment, resume
from pgclinic.experiment.servers import choose_again
from pgclinic.experiment.stored import plan_of
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.trial import ServerSpec
from pgclinic.model.verdict import Verdict
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.study.read import read_study


@dataclass(frozen=True)
class ResumeRequest:
    """What the command line asked for. ``dsns`` are only needed where an address of the run had a password."""

    run: Path
    more: More
    dsns: tuple[str, ...] = ()
    pool_machines: bool = False
    allow_shell: bool = False
    fleet: str | None = None


def resume_study(request: ResumeRequest, names: tuple[str, ...], *, as_json: bool) -> Verdict:
    """Resume the run of a study that ended before its verdict: a Ctrl-C, a kill, a full disk, a spent budget.

    Raises UsageError: no run of a study, another study's name, another machine or server, a run that is being written.
    """
    stored, plan = _stored(request, RunKind.STUDY)
    for name in names:
        if read_study(name)[1] != stored.study_toml:
            raise UsageError(
                f"{request.run} is not a run of {name} as it is now",
                hint="omit the name: the study is in the run folder",
            )
    experiment, verdict = _resumed(request, stored, plan)
    finish(experiment.folder, experiment.plan.study, verdict, as_json=as_json, dsns=request.dsns)
    return verdict


def resume_comparison(request: ResumeRequest, ending: Ending) -> int:
    """Resume a comparison that ended before its answer, and give the exit code. Raises UsageError as ``resume_study``.

    Its thresholds are those of the run, unless new ones are given.
    """
    ending.check()
    stored, plan = _stored(request, RunKind.COMPARE)
    ending = ending.or_those_of(stored.info)
    experiment, verdict = _resumed(request, stored, plan, ending)
    return finish_comparison(experiment.folder, experiment.plan, verdict, ending, request.dsns)


def _stored(request: ResumeRequest, kind: RunKind) -> tuple[StoredRun, ExperimentPlan]:
    stored = read_run(request.run)
    say_strange(stored)
    info = stored.info
    if info.kind != kind:
        hint = f"pgclinic {command_of(info)} --resume {request.run}" if info.kind != RunKind.BENCH else None
        raise UsageError(f"{request.run} is the run of pgclinic {command_of(info)}", hint=hint)
    return stored, plan_of(stored)


def _resumed(
    request: ResumeRequest, stored: StoredRun, plan: ExperimentPlan, ending: Ending | None = None
) -> tuple[Experiment, Verdict]:
    refuse_shell_commands(plan.study, plan.profile, allowed=request.allow_shell)
    before = extended(plan, stored.info).profile
    addresses = _addresses(request, plan, stored.info)
    info = request.more.asked_of(_resumed_now(stored.info, pool=request.pool_machines), before, stored.trials)
    if ending is not None:
        info = replace(info, fail_if=ending.fail_if, strict=ending.strict)
    say_cleaned()
    say_dropped(addresses.values())
    with LiveLine(sys.stderr) as live:
        _check_servers(request.run, plan, info, addresses, live)
        experiment = resume(stored, plan, info, fleet_of(request.fleet, addresses))
        say_resumed(info.name, request.run, stored.trials, before, experiment.plan.profile)
        prepare(plan, addresses, live.stage)
        return experiment, run_shown(experiment, live, addresses)


def _addresses(request: ResumeRequest, plan: ExperimentPlan, info: RunInfo) -> dict[str, str]:
    """The whole address of every attached server by what is stored of it."""
    stored = {arm.server.dsn for arm in plan.arms.values() if arm.server.dsn is not None}
    given = addresses_of(request.dsns)
    for safe in given:
        if safe not in stored:
            raise UsageError(f"{request.run} was started on {info.server}, not on {safe}")
    return {dsn: given.get(dsn, dsn) for dsn in sorted(stored)}


def _resumed_now(info: RunInfo, *, pool: bool) -> RunInfo:
    """The run's info with this machine and this moment in it. Raises UsageError for another machine."""
    pooled = with_machine(info, read_machine(), pool=pool)
    return replace(pooled, resumed_epoch_us=(*info.resumed_epoch_us, time.time_ns() // 1000))


def _check_servers(
    run: Path, plan: ExperimentPlan, info: RunInfo, addresses: Mapping[str, str], live: LiveLine
) -> None:
    """Raise UsageError unless the servers are those of then; fetch their programs if need be."""
    specs = [arm.server for arm in plan.arms.values()]
    if info.kind == RunKind.STUDY:
        specs = [info.wanted or ServerSpec()]
    servers = [choose_again(spec, addresses.get(spec.dsn or ""), live.stage) for spec in dict.fromkeys(specs)]
    live.close()
    words = " and ".join(dict.fromkeys(server.words for server in servers))
    if words != info.server:
        raise UsageError(f"{run} was started on {info.server}; here is {words}")
    say_what_is_made(servers)
