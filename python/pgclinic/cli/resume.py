"""``--resume RUN`` of studies and comparisons: the plan of the run, its servers; what is done is not repeated."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.cli.compare import AnswerOptions
from pgclinic.cli.compare_end import answer_of_run, check_answer, finish_comparison
from pgclinic.cli.duration import parse_budget_s
from pgclinic.cli.experiment_run import command_of_run, fleet_of, run_shown
from pgclinic.cli.experiment_start import say_what_is_made, words_of_servers
from pgclinic.cli.leftovers import say_cleaned, say_dropped
from pgclinic.cli.live import LiveView
from pgclinic.cli.options.run import HostOptions, RunOptions
from pgclinic.cli.study_end import finish_study, say_strange
from pgclinic.cli.this_command import addresses_of
from pgclinic.errors import UsageError
from pgclinic.experiment.extend import extended, spent, with_blocks, with_budget
from pgclinic.experiment.prepare import prepare, refuse_stored_shell_commands
from pgclinic.experiment.resume import with_machine
from pgclinic.experiment.road import Experiment, resume
from pgclinic.experiment.servers import choose_again
from pgclinic.experiment.stored import plan_of
from pgclinic.live_export.live_export import exporting
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.study import Profile
from pgclinic.model.trial import ServerSpec, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.words.figures import count
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.study.read import read_study

_ALWAYS_BESIDE = frozenset({"--resume", "--budget", "--allow-shell", "--json", "--plain", "--export"})


@dataclass(frozen=True)
class ResumeRequest:
    """``blocks`` and ``budget`` are new limits of the whole run; a budget of ``+3m`` is time on top of what is spent.

    ``dsns`` are only needed where an address of the run had a password.
    """

    run: Path
    blocks: int | None
    budget: str | None
    dsns: tuple[str, ...]
    hosts: HostOptions
    allow_shell: bool
    plain: bool
    export: tuple[str, ...] = ()


def refuse_beside_resume(options: RunOptions, allowed: Collection[str], stored: str) -> None:
    """Raise UsageError for options whose values a resumed run has ``stored``; the ``allowed`` ones may be written."""
    if not options.written <= _ALWAYS_BESIDE | set(allowed):
        raise UsageError(f"--resume uses the {stored} of the run: omit these options")


def resume_study(request: ResumeRequest, names: Sequence[str], *, as_json: bool) -> Verdict:
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
    experiment, verdict = _resumed(request, stored, plan, stored.info)
    finish_study(experiment.folder, experiment.plan.study, verdict, as_json=as_json, dsns=request.dsns)
    return verdict


def resume_comparison(request: ResumeRequest, answer: AnswerOptions) -> int:
    """Resume a comparison that ended before its answer, and return the exit code.

    Its thresholds are those of the run, unless new ones are given. Raises UsageError as ``resume_study`` does.
    """
    check_answer(answer)
    stored, plan = _stored(request, RunKind.COMPARE)
    answer = answer_of_run(answer, stored.info)
    info = replace(stored.info, fail_if=answer.fail_if, strict=answer.strict)
    experiment, verdict = _resumed(request, stored, plan, info)
    return finish_comparison(experiment.folder, experiment.plan, verdict, answer, request.dsns)


def _stored(request: ResumeRequest, kind: RunKind) -> tuple[StoredRun, ExperimentPlan]:
    stored = read_run(request.run)
    say_strange(stored)
    info = stored.info
    if info.kind != kind:
        hint = f"pgclinic {command_of_run(info)} --resume {request.run}" if info.kind != RunKind.BENCH else None
        raise UsageError(f"{request.run} is the run of pgclinic {command_of_run(info)}", hint=hint)
    return stored, plan_of(stored)


def _resumed(
    request: ResumeRequest, stored: StoredRun, plan: ExperimentPlan, info: RunInfo
) -> tuple[Experiment, Verdict]:
    """Run what is left to run, and return the experiment with its verdict; ``info`` is that of the stored run."""
    refuse_stored_shell_commands(plan, allowed=request.allow_shell)
    before = extended(plan, stored.info).profile
    addresses = _addresses(request, plan, stored.info)
    info = resumed_now(info, pool=request.hosts.pool_machines)
    info = _with_limits(info, request, before, stored.trials)
    say_cleaned()
    say_dropped(addresses.values())
    about = {"kind": info.kind.value, "name": info.name}
    with (
        LiveView(sys.stderr, plain=request.plain) as live,
        exporting(request.export, about, live.say) as export,
    ):
        _check_servers(request.run, plan, info, addresses, live)
        experiment = resume(stored, plan, info, fleet_of(request.hosts.fleet, addresses))
        _say_resumed(request.run, stored, before, experiment.plan.profile)
        prepare(plan, addresses, live.stage)
        return experiment, run_shown(experiment, live, addresses, export)


def resumed_now(info: RunInfo, *, pool: bool) -> RunInfo:
    """Return the run's info with this machine and this moment in it. Raises UsageError for another machine."""
    pooled = with_machine(info, read_machine(), pool=pool)
    return replace(pooled, resumed_epoch_us=(*info.resumed_epoch_us, time.time_ns() // 1000))


def _with_limits(info: RunInfo, request: ResumeRequest, planned: Profile, done: Sequence[TrialRecord]) -> RunInfo:
    """Return the run with its new limits; unchanged where none are given. Raises UsageError."""
    if request.blocks is not None and request.budget is not None:
        raise UsageError("--blocks and --budget are mutually exclusive: one sets the number, the other the time")
    if request.blocks is not None:
        return with_blocks(info, planned, done, request.blocks)
    if request.budget is None:
        return info
    return with_budget(info, planned, done, parse_budget_s(request.budget, spent(done)))


def _say_resumed(run: Path, stored: StoredRun, planned: Profile, now: Profile) -> None:
    """Print how many trials are done, and whether the interval changes with the number of blocks."""
    print(f"{stored.info.name}   {count(len(stored.trials), 'trial')} done; resuming {run}", file=sys.stderr)
    if planned.blocks_fixed is not None and now.blocks_fixed is None:
        print(
            f"  the number of blocks was fixed at {planned.blocks_max} and is raised: the interval is now a "
            "confidence sequence, which is wider",
            file=sys.stderr,
        )


def _addresses(request: ResumeRequest, plan: ExperimentPlan, info: RunInfo) -> dict[str, str]:
    """Return the whole address of every attached server by what is stored of it."""
    stored = {arm.server.dsn for arm in plan.arms.values() if arm.server.dsn is not None}
    given = addresses_of(request.dsns)
    for safe in given:
        if safe not in stored:
            raise UsageError(f"{request.run} was started on {info.server}, not on {safe}")
    return {dsn: given.get(dsn, dsn) for dsn in sorted(stored)}


def _check_servers(
    run: Path, plan: ExperimentPlan, info: RunInfo, addresses: Mapping[str, str], live: LiveView
) -> None:
    """Raise UsageError unless the servers are those of then; fetch their programs if need be."""
    specs = [arm.server for arm in plan.arms.values()]
    if info.kind == RunKind.STUDY:
        specs = [info.wanted or ServerSpec()]
    servers = [choose_again(spec, addresses.get(spec.dsn or ""), live.stage) for spec in dict.fromkeys(specs)]
    live.clear()
    words = words_of_servers(servers)
    if words != info.server:
        raise UsageError(f"{run} was started on {info.server}; here is {words}")
    say_what_is_made(servers)
