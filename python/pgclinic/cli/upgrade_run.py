"""The road of ``pgclinic upgrade``: an original -> its twin on both versions -> what is known, measured, explained."""

from __future__ import annotations

import sys
import time

from msgspec.structs import replace

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.exports import check_places
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.this_command import command_began_s
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.cli.upgrade_original import original_of
from pgclinic.errors import UsageError
from pgclinic.judge.thresholds import parse_ratio_threshold


def run_upgrade(request: UpgradeRequest) -> int:
    """Answer what the upgrade changes, print it, and return the exit code."""
    if request.fail_if and not request.blocks:
        raise UsageError("--fail-if is judged by blocks, and --no-blocks runs none", hint="leave out one of the two")
    thresholds = tuple(parse_ratio_threshold(text) for text in request.fail_if)
    check_places(request.exports.places, force=request.exports.force, on_stdout=["--json"] * request.as_json)
    if request.run.resume is not None:
        from pgclinic.cli.upgrade_resume import resume_upgrade

        return resume_upgrade(request, thresholds)
    budget_s = parse_duration_s(request.budget, "--budget")
    until_s = command_began_s() + budget_s
    say_cleaned()
    with LiveView(sys.stderr, plain=request.plain) as live:
        original = original_of(request, live)
        # What measures and reports takes as long to import as the server's first answer: it is not waited for.
        from pgclinic.cli.upgrade_measured import measured_upgrade, with_blocks

        found, experiment = measured_upgrade(request, original, budget_s, until_s, live)
        found = with_blocks(request, found, experiment, thresholds, until_s, live)
    from pgclinic.cli.upgrade_end import finish_upgrade

    found = replace(found, budget_s=budget_s, spent_s=time.monotonic() - command_began_s())
    return finish_upgrade(experiment.folder, found, request)
