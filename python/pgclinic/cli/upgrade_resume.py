"""``pgclinic upgrade --resume RUN``: the blocks that are missing; what statements have shown is in the run."""

from __future__ import annotations

import dataclasses
import sys
import time

from msgspec.structs import replace

from pgclinic.cli.duration import parse_budget_s
from pgclinic.cli.experiment_run import run_shown
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.resume import refuse_beside_resume, resumed_now
from pgclinic.cli.this_command import command_began_s
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.cli.upgrade_end import finish_upgrade
from pgclinic.errors import UsageError
from pgclinic.experiment.extend import extended, spent, with_budget
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import compared_stored, resume
from pgclinic.experiment.servers import choose_again
from pgclinic.experiment.stored import plan_of
from pgclinic.fleet.here import Here
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.run import RunKind
from pgclinic.model.threshold import Threshold
from pgclinic.store.run_folder import read_run

_BESIDE = frozenset({"--fail-if", "--strict", "--markdown", "--force"})


def resume_upgrade(request: UpgradeRequest, thresholds: tuple[Threshold, ...]) -> int:
    """Run the blocks that an interrupted run still needs, print the answer, and return the exit code.

    Raises UsageError for the run of another command, machine or server.
    """
    path = request.run.resume
    assert path is not None
    refuse_beside_resume(request.run, _BESIDE, "twin, versions and settings")
    stored = read_run(path)
    if stored.info.kind is not RunKind.UPGRADE:
        raise UsageError(f"{path} is the run of pgclinic {stored.info.kind.value}")
    plan = plan_of(stored)
    info = resumed_now(stored.info, pool=False)
    if "--budget" in request.run.written:
        before = extended(plan, stored.info).profile
        info = with_budget(info, before, stored.trials, parse_budget_s(request.budget, spent(stored.trials)))
    if not request.fail_if and not request.strict:
        thresholds = tuple(parse_ratio_threshold(text) for text in info.fail_if)
        request = dataclasses.replace(request, fail_if=info.fail_if, strict=info.strict)
    say_cleaned()
    with LiveView(sys.stderr, plain=request.plain) as live:
        for spec in dict.fromkeys(arm.server for arm in plan.arms.values()):
            choose_again(spec, None, live.stage)
        experiment = resume(stored, plan, info, Here())
        found = experiment.folder.read_upgrade()
        prepare(plan, {}, live.stage)
        verdict = run_shown(experiment, live, {})
    experiment.folder.write_verdict(verdict)
    again = read_run(path)
    found = replace(
        found,
        comparison=compared_stored(again, experiment.plan, verdict, thresholds),
        unjudged=(),
        spent_s=found.spent_s + time.monotonic() - command_began_s(),
    )
    return finish_upgrade(experiment.folder, found, request)
