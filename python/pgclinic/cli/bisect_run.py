"""The road of ``pgclinic bisect``: releases, blocks of them, what changed beside the performance."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from pgclinic.cli.bisect import BisectRequest
from pgclinic.cli.exit_codes import UNDECIDED
from pgclinic.cli.live import LiveView
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_run import TuningArm, new_experiment, resumed_experiment
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.experiment.servers import ServerAsked
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.sources import find_source
from pgclinic.lab.sources.offer import offered_versions
from pgclinic.model.run import RunKind
from pgclinic.model.study import Condition
from pgclinic.model.trial import ServerSpec, TrialRecord
from pgclinic.model.tuning import Bisect, BisectWord, ChangeFound, DefaultChanged, WantedArm
from pgclinic.model.version import Version, parse_version
from pgclinic.report.sections.waits.two_arms import why_words
from pgclinic.samples.activity import compare_activity
from pgclinic.samples.causes import find_causes
from pgclinic.settings.words import parse_settings
from pgclinic.store.run_folder import read_run
from pgclinic.tune.bisect import Bisection, first_places

_RANGE = ".."


@dataclass(frozen=True)
class ListedRelease:
    """One release of the list: what it is called, and where its server comes from."""

    name: str
    major: int
    server: ServerSpec


def run_bisect(request: BisectRequest) -> int:
    """Find the releases in which the performance changed, print them, and return the exit code."""
    with LiveView(sys.stderr, plain=request.tuning.plain) as live:
        experiment, releases = _prepared(request, live)
        base = next(iter(experiment.plan.arms.values()))
        arms = [WantedArm(name=release.name, settings=base.settings, server=release.server) for release in releases]
        majors = [release.major for release in releases]
        found = run_tuning(experiment, base, lambda ledger: Bisection(arms, majors, ledger).run(), live)
        live.stage("comparing the releases")
        found = _explained(found, releases, experiment)
    finish_tuning(experiment, found, as_json=request.tuning.as_json)
    return UNDECIDED if found.word is BisectWord.INCONCLUSIVE else 0


def _prepared(request: BisectRequest, live: LiveView) -> tuple[Experiment, list[ListedRelease]]:
    """Return a new run with its releases, or an interrupted one with those that it has."""
    if request.tuning.run.resume is not None:
        experiment, stored = resumed_experiment(RunKind.BISECT, request.tuning, live)
        names = stored.info.settings[_RELEASES].split(",")
        return experiment, _literal([_release(name) for name in names], experiment)
    if not request.tuning.workload.is_given:
        raise UsageError("there is no workload", hint="name a script, such as builtin:select-only, --tpcc or --twin")
    releases = _releases(request)
    if len(releases) < 2:
        raise UsageError("a bisection needs two releases or more", hint="write --versions 13..18")
    settings = parse_settings(request.settings)
    first = [releases[place] for place in first_places([release.major for release in releases])]
    condition = Condition(idle_sessions=request.idle)
    arms = {
        release.name: TuningArm(settings, f"PostgreSQL {release.name}", _server(release), condition)
        for release in first
    }
    kept = {_RELEASES: ",".join(release.name for release in releases)}
    experiment = new_experiment(RunKind.BISECT, request.tuning, arms, live, wants_plans=True, kept=kept)
    return experiment, _literal(releases, experiment)


#: Under this name run.json keeps the releases of the list, beside the settings that all of them have.
_RELEASES = "pgclinic.releases"


def _literal(releases: Sequence[ListedRelease], experiment: Experiment) -> list[ListedRelease]:
    """Return the releases with the servers that their arms got; the others are fetched when their turn comes."""
    arms = experiment.plan.arms
    return [
        replace(release, server=arms[release.name].server) if release.name in arms else release for release in releases
    ]


def _release(name: str) -> ListedRelease:
    return ListedRelease(name, parse_version(name).major, ServerSpec(version=name))


def _server(release: ListedRelease) -> ServerAsked:
    if release.server.bindir is not None:
        return ServerAsked(bindir=Path(release.server.bindir))
    return ServerAsked(version=release.server.version)


# Which releases


def _releases(request: BisectRequest) -> list[ListedRelease]:
    if (request.versions is None) == (not request.bindirs):
        raise UsageError("name the releases by --versions or by --bindir", hint="write --versions 13..18")
    if request.bindirs:
        return list(_installed(request.bindirs))
    text = (request.versions or "").strip()
    wanted = _of_range(text) if _RANGE in text else _of_list(text)
    return [_release(name) for name in dict.fromkeys(str(version) for version in wanted)]


def _installed(bindirs: Sequence[Path]) -> Iterator[ListedRelease]:
    seen: list[str] = []
    for path in bindirs:
        version = find_source(None, path).version
        number = seen.count(version) + 1
        name = version if number == 1 else f"{version} ({number})"
        seen.append(version)
        yield ListedRelease(name, parse_version(version).major, ServerSpec(bindir=str(path)))


def _of_list(text: str) -> Iterator[Version]:
    """Yield each release as it is, or the newest of a branch."""
    for word in text.split(","):
        yield _newest(parse_version(word.strip()))


def _of_range(text: str) -> Iterator[Version]:
    """Yield from the newest release of a branch, or from a release, to the newest of another, or to a release."""
    low, _, high = text.partition(_RANGE)
    first, last = _newest(parse_version(low.strip())), _newest(parse_version(high.strip()))
    if last < first:
        raise UsageError(f"--versions {text}: {last} is older than {first}")
    yield from (version for version in _offered() if first <= version <= last)


def _newest(wish: Version) -> Version:
    """Return the release itself, or the newest one of a branch. Raises UnknownNameError."""
    if wish.minor is not None:
        return wish
    offered = _offered()
    found = [version for version in offered if version.family == wish.family]
    if not found:
        raise UnknownNameError("version", str(wish), sorted({version.branch for version in offered}))
    return max(found)


def _offered() -> list[Version]:
    """Return all releases that the lab can get, the oldest first."""
    return sorted({parse_version(offer.version) for offer in offered_versions(newest_only=False)})


# What else differs


def _explained(found: Bisect, releases: Sequence[ListedRelease], experiment: Experiment) -> Bisect:
    """Return every change with the defaults that differ and what the servers did otherwise."""
    if not found.changes:
        return found
    by_name = {release.name: release for release in releases}
    trials = read_run(experiment.folder.path).trials
    changes = tuple(
        structs.replace(
            change, defaults=_defaults(by_name[change.before], by_name[change.after]), why=_why(change, trials)
        )
        for change in found.changes
    )
    return structs.replace(found, changes=changes)


def _defaults(before: ListedRelease, after: ListedRelease) -> tuple[DefaultChanged, ...]:
    """Return the settings whose default is another one, or that one of the two does not have."""
    old, new = _boot_values(before), _boot_values(after)
    return tuple(
        DefaultChanged(setting=name, before=old.get(name), after=new.get(name))
        for name in sorted({*old, *new}, key=str.lower)
        if old.get(name) != new.get(name) and name not in _OF_BUILDS
    )


#: These say what a build is, not how it works.
_OF_BUILDS = frozenset(("server_version", "server_version_num"))


def _boot_values(release: ListedRelease) -> Mapping[str, str]:
    asked = _server(release)
    catalog = settings_catalog(find_source(asked.version, asked.bindir).ensure())
    return {setting.name: setting.boot_val if setting.boot_val is not None else "" for setting in catalog.settings}


def _why(change: ChangeFound, trials: Sequence[TrialRecord]) -> str | None:
    """Return what the servers of both did otherwise, from the blocks that have both."""
    blocks: dict[int, dict[str, TrialRecord]] = {}
    for trial in trials:
        if trial.load is not None and trial.spec.arm in (change.before, change.after):
            blocks.setdefault(trial.spec.block, {})[trial.spec.arm] = trial
    pairs = [(block[change.before], block[change.after]) for block in blocks.values() if len(block) == 2]
    activity = compare_activity(pairs)
    if activity is None:
        return None
    slower = "b" if change.effect.ratio < 1 else "a"
    return why_words(find_causes(activity, slower), (change.before, change.after))
