"""The road of ``pgclinic upgrade``: an original -> its twin on both versions -> what is known, measured, explained."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.experiment_run import run_shown
from pgclinic.cli.experiment_start import chosen_seed, info_of_new_run
from pgclinic.cli.exports import check_places
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.this_command import addresses_of, command_began_s
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.cli.upgrade_resume import resume_upgrade
from pgclinic.errors import UsageError
from pgclinic.experiment.kept_check import kept_check
from pgclinic.experiment.on_twin import dataset_of
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import Experiment, compared_stored, start
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.experiment.twin_check import CheckRequest, known_settings
from pgclinic.fleet.here import Here
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.sources import find_source
from pgclinic.model.run import RunKind
from pgclinic.model.threshold import Threshold
from pgclinic.model.twin import Twin
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.version import NEWEST_MAJOR, parse_version
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.report.sections.twin.text import twin_summary_text
from pgclinic.store.run_folder import read_run
from pgclinic.trial.server import binaries_of
from pgclinic.tune.upgrade.blocks import needed_s, upgrade_plan
from pgclinic.tune.upgrade.original import captured_file, scale_within
from pgclinic.tune.upgrade.preflight import preflight
from pgclinic.tune.upgrade.upgrade import UpgradeAsked, upgraded
from pgclinic.twin.file import read_twin
from pgclinic.twin.wanted import TwinWanted

#: The check of the twin runs its workload for this part of the budget, and for no longer than that.
_CHECK_SHARE, _CHECK_S_MAX = 0.05, 10.0
#: Values of statements are searched for in this part of the time that is left.
_VALUES_SHARE = 0.25
#: What is left then is for statements up to this part; blocks have the rest.
_STATEMENTS_SHARE = 0.5


@dataclass(frozen=True)
class _Original:
    """The twin and its file; both releases."""

    twin: Twin
    path: Path
    before: ChosenServer
    after: ChosenServer


def run_upgrade(request: UpgradeRequest) -> int:
    """Answer what the upgrade changes, print it, and return the exit code."""
    from pgclinic.cli.upgrade_end import finish_upgrade

    thresholds = tuple(parse_ratio_threshold(text) for text in request.fail_if)
    check_places(request.exports.places, force=request.exports.force, on_stdout=["--json"] * request.as_json)
    if request.run.resume is not None:
        return resume_upgrade(request, thresholds)
    budget_s = parse_duration_s(request.budget, "--budget")
    until_s = command_began_s() + budget_s
    say_cleaned()
    with LiveView(sys.stderr, plain=request.plain) as live:
        original = _original(request, live)
        found, experiment = _statements(request, original, budget_s, until_s, live)
        found = _with_blocks(request, found, experiment, thresholds, until_s, live)
    found = replace(found, budget_s=budget_s, spent_s=time.monotonic() - command_began_s())
    return finish_upgrade(experiment.folder, found, request)


def _original(request: UpgradeRequest, live: LiveView) -> _Original:
    """Return the twin and both releases. Raises UsageError for what cannot be an upgrade."""
    if request.original is None:
        raise UsageError("name a server or a twin", hint="pgclinic upgrade shop.twin --to 18")
    if request.to is not None and request.bindir is not None:
        raise UsageError("--to and --bindir are mutually exclusive: a directory has one version")
    to = request.to if request.to is not None or request.bindir is not None else str(NEWEST_MAJOR)
    # An unknown version is refused before anything is captured.
    target = parse_version(find_source(to, request.bindir).version)
    named = f"--to {to}" if to is not None else f"{target} of --bindir"
    path = _file(request, live)
    twin = read_twin(path)
    original = parse_version(twin.version)
    if original.major > target.major:
        raise UsageError(
            f"the original is PostgreSQL {twin.version}, which is newer than {named}",
            hint="name the version to upgrade to; pg_upgrade cannot go back",
        )
    wish = request.from_ if request.from_ is not None else original.branch
    source = parse_version(find_source(wish).version)
    if source > target:
        raise UsageError(f"--from {wish} is newer than {named}")
    before = choose_server(ServerAsked(version=wish), on_stage=live.stage)
    after = choose_server(ServerAsked(version=to, bindir=request.bindir), on_stage=live.stage)
    return _Original(twin, path, before, after)


def _file(request: UpgradeRequest, live: LiveView) -> Path:
    named = request.original or ""
    if named.endswith(".twin") or Path(named).is_file():
        return Path(named)
    observe_s = parse_duration_s(request.observe, "--observe")
    return captured_file(reach_dsn(named), observe_s, masked_text, live.stage)


def _statements(
    request: UpgradeRequest, original: _Original, budget_s: float, until_s: float, live: LiveView
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
    info = info_of_new_run(RunKind.UPGRADE, plan, servers, addresses_of([_dsn(request)]))
    info = replace(info, fail_if=request.fail_if, strict=request.strict, budget_s=budget_s)
    experiment = start(plan, info, request.run.runs, Here(until_s=until_s))
    experiment.folder.write_upgrade(found)
    return found, experiment


def _dsn(request: UpgradeRequest) -> str | None:
    named = request.original or ""
    return None if named.endswith(".twin") or Path(named).is_file() else named


def _between(before: Binaries, after: Binaries) -> Sequence[Binaries]:
    """The newest release of every major version between."""
    majors = range(before.parsed.major + 1, after.parsed.major)
    return [find_source(str(major)).ensure() for major in majors]


def _with_blocks(
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
        return found
    live.clear()
    prepare(experiment.plan, {}, live.stage)
    verdict = run_shown(experiment, live, {})
    stored = read_run(experiment.folder.path)
    experiment.folder.write_verdict(verdict)
    return replace(found, comparison=compared_stored(stored, experiment.plan, verdict, thresholds))
