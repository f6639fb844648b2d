"""The measured part of an upgrade: its twin on both versions, statement by statement, then in blocks."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.cli.experiment_run import run_shown
from pgclinic.cli.experiment_start import chosen_seed, info_of_new_run
from pgclinic.cli.live import LiveView
from pgclinic.cli.this_command import addresses_of
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.cli.upgrade_original import Original, dsn_of
from pgclinic.experiment.kept_check import kept_check
from pgclinic.experiment.on_twin import dataset_of
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import Experiment, compared_stored, start
from pgclinic.experiment.twin_check import CheckRequest, known_settings
from pgclinic.fleet.here import Here
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.sources import find_source
from pgclinic.model.run import RunKind
from pgclinic.model.threshold import Threshold
from pgclinic.model.upgrade import Upgrade
from pgclinic.report.sections.twin.text import twin_summary_text
from pgclinic.store.run_folder import read_run
from pgclinic.trial.server import binaries_of
from pgclinic.tune.upgrade.blocks import needed_s, upgrade_plan
from pgclinic.tune.upgrade.original import scale_within
from pgclinic.tune.upgrade.preflight import preflight
from pgclinic.tune.upgrade.upgrade import UpgradeAsked, upgraded
from pgclinic.twin.wanted import TwinWanted

#: The check of the twin runs its workload for this part of the budget, and for no longer than that.
_CHECK_SHARE, _CHECK_S_MAX = 0.05, 10.0
#: Values of statements are searched for in this part of the time that is left.
_VALUES_SHARE = 0.25
#: What is left then is for statements up to this part; blocks have the rest.
_STATEMENTS_SHARE = 0.5


def measured_upgrade(
    request: UpgradeRequest, original: Original, budget_s: float, until_s: float, live: LiveView
) -> tuple[Upgrade, Experiment]:
    """Everything but the blocks, and the run that keeps it."""
    from pgclinic.report.sections.upgrade.text import preflight_text

    twin = original.twin
    before, after = binaries_of(original.before.spec), binaries_of(original.after.spec)
    live.stage("schema and settings on both versions")
    first = preflight(twin, before, after)
    live.clear()
    print(preflight_text(first, after.version), file=sys.stderr, flush=True)
    scale = request.scale if request.scale is not None else scale_within(twin, budget_s)
    dataset = dataset_of(TwinWanted(original.path, scale))
    check = CheckRequest(seconds=min(_CHECK_S_MAX, _CHECK_SHARE * budget_s), clients=request.clients, scale=scale)
    values_until_s = time.monotonic() + _VALUES_SHARE * max(0.0, until_s - time.monotonic())
    checked = kept_check(
        original.path, before, check, live.stage, should_stop=lambda: time.monotonic() > values_until_s
    )
    live.clear()
    print(twin_summary_text(checked.fidelity), file=sys.stderr, flush=True)
    now_s = time.monotonic()
    share = _STATEMENTS_SHARE if request.blocks else 1.0
    asked = UpgradeAsked(
        twin=twin,
        dataset=dataset,
        before=before,
        after=after,
        settings=known_settings(before, twin),
        checked=checked,
        preflight=first,
        began_s=now_s,
        until_s=now_s + share * max(0.0, until_s - now_s),
        bisect=request.bisect,
        between=lambda: _between(before, after),
        on_stage=live.stage,
    )
    found = upgraded(asked)
    plan = upgrade_plan(
        (original.before, original.after),
        (asked.settings, asked.new_settings),
        checked,
        dataset,
        found.statements,
        clients=request.clients,
        seed=chosen_seed(request.run),
        budget_s=max(1.0, until_s - time.monotonic()),
    )
    servers = (original.before, original.after)
    info = info_of_new_run(RunKind.UPGRADE, plan, servers, addresses_of([dsn_of(request)]))
    info = replace(info, fail_if=request.fail_if, strict=request.strict, budget_s=budget_s)
    experiment = start(plan, info, request.run.runs, Here(until_s=until_s))
    experiment.folder.write_upgrade(found)
    return found, experiment


def _between(before: Binaries, after: Binaries) -> Sequence[Binaries]:
    """The newest release of every major version between."""
    majors = range(before.parsed.major + 1, after.parsed.major)
    return [find_source(str(major)).ensure() for major in majors]


def with_blocks(
    request: UpgradeRequest,
    found: Upgrade,
    experiment: Experiment,
    thresholds: tuple[Threshold, ...],
    until_s: float,
    live: LiveView,
) -> Upgrade:
    """With the workload in blocks, where it is wanted, fits the machine, and there is time for it."""
    left_s = until_s - time.monotonic()
    if not request.blocks or not experiment.plan.study.questions or left_s < needed_s():
        return replace(found, unjudged=request.fail_if)
    live.clear()
    prepare(experiment.plan, {}, live.stage)
    verdict = run_shown(experiment, live, {})
    stored = read_run(experiment.folder.path)
    experiment.folder.write_verdict(verdict)
    return replace(found, comparison=compared_stored(stored, experiment.plan, verdict, thresholds))
