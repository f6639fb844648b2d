"""The road of ``pgclinic bisect``: releases, blocks of them, what changed beside the performance."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.cli.live import LiveLine
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_options import Asked
from pgclinic.cli.tuning_run import Arm, new_experiment, resumed_experiment
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.experiment.servers import ServerAsked
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.sources import find_source
from pgclinic.lab.sources.offer import offered_versions
from pgclinic.model.plan import ArmSpec
from pgclinic.model.run import RunKind
from pgclinic.model.study import Condition
from pgclinic.model.trial import ServerSpec, TrialRecord
from pgclinic.model.tuning import ArmAsked, Bisect, BisectWord, ChangeFound, DefaultChanged
from pgclinic.model.version import Version, parse_version
from pgclinic.report.activity_text import why_words
from pgclinic.samples.activity import compare_activity
from pgclinic.samples.causes import find_causes
from pgclinic.settings.words import parse_settings
from pgclinic.store.run_folder import read_run
from pgclinic.tune.bisect import Bisection, first_places

UNDECIDED = 4
_RANGE = ".."


@dataclass(frozen=True)
class BisectRequest:
    """What the command line asked for."""

    versions: str | None
    bindirs: tuple[Path, ...]
    idle: int
    settings: tuple[str, ...]
    asked: Asked
    resume: Path | None
    budget_is_given: bool = False


@dataclass(frozen=True)
class Release:
    """One release of the list: what it is called, and where its server comes from."""

    name: str
    major: int
    server: ServerSpec


def run_bisect(request: BisectRequest) -> int:
    with LiveLine(sys.stderr) as live:
        experiment, releases = _prepared(request, live)
        base = next(iter(experiment.plan.arms.values()))
        arms = [ArmAsked(name=one.name, settings=base.settings, server=one.server) for one in releases]
        majors = [one.major for one in releases]
        found = run_tuning(experiment, base, lambda ledger: Bisection(arms, majors, ledger).run(), live)
        live.stage("comparing the releases")
        found = _explained(found, releases, experiment)
    finish_tuning(experiment, found, as_json=request.asked.as_json)
    return UNDECIDED if found.word is BisectWord.INCONCLUSIVE else 0


def _prepared(request: BisectRequest, live: LiveLine) -> tuple[Experiment, list[Release]]:
    if request.resume is not None:
        if request.versions is not None or request.bindirs or request.asked.has_traffic:
            raise UsageError("--resume uses the releases and the workload of the run: omit them")
        budget = request.asked.budget if request.budget_is_given else None
        experiment, stored = resumed_experiment(RunKind.BISECT, request.resume, budget, live)
        named = stored.info.settings[_RELEASES].split(",")
        by_name = {name: arm.server for name, arm in experiment.plan.arms.items()}
        return experiment, [_again(name, by_name.get(name)) for name in named]
    if not request.asked.has_traffic:
        raise UsageError("there is no workload", hint="name a script, such as builtin:select-only, --tpcc or --twin")
    releases = _releases(request)
    if len(releases) < 2:
        raise UsageError("a bisection needs two releases or more", hint="write --versions 13..18")
    settings = parse_settings(request.settings)
    first = [releases[at] for at in first_places([one.major for one in releases])]
    condition = Condition(idle_sessions=request.idle)
    arms = {one.name: Arm(settings, f"PostgreSQL {one.name}", _asked(one), condition) for one in first}
    every = ",".join(one.name for one in releases)
    experiment = new_experiment(RunKind.BISECT, request.asked, arms, live, wants_plans=True, kept={_RELEASES: every})
    literal = experiment.plan.arms
    return experiment, [_literal(one, literal) for one in releases]


#: Under this name run.json keeps the releases of the list, beside the settings that all of them have.
_RELEASES = "pgclinic.releases"


def _literal(release: Release, arms: Mapping[str, ArmSpec]) -> Release:
    """With the server that its arm got; the others are fetched when their turn comes."""
    arm = arms.get(release.name)
    return release if arm is None else Release(release.name, release.major, arm.server)


def _again(name: str, server: ServerSpec | None) -> Release:
    return Release(name, parse_version(name).major, server or ServerSpec(version=name))


def _asked(release: Release) -> ServerAsked:
    if release.server.bindir is not None:
        return ServerAsked(bindir=Path(release.server.bindir))
    return ServerAsked(version=release.server.version)


# Which releases


def _releases(request: BisectRequest) -> list[Release]:
    if (request.versions is None) == (not request.bindirs):
        raise UsageError("name the releases by --versions or by --bindir", hint="write --versions 13..18")
    if request.bindirs:
        return list(_installed(request.bindirs))
    text = (request.versions or "").strip()
    wanted = list(_of_range(text)) if _RANGE in text else list(_of_list(text))
    names = list(dict.fromkeys(str(one) for one in wanted))
    return [Release(name, parse_version(name).major, ServerSpec(version=name)) for name in names]


def _installed(bindirs: Sequence[Path]) -> Iterator[Release]:
    seen: list[str] = []
    for path in bindirs:
        version = find_source(None, path).version
        number = seen.count(version) + 1
        name = version if number == 1 else f"{version} ({number})"
        seen.append(version)
        yield Release(name, parse_version(version).major, ServerSpec(bindir=str(path)))


def _of_list(text: str) -> Iterator[Version]:
    """Each as it is, or the newest release of a branch."""
    for word in text.split(","):
        wish = parse_version(word.strip())
        yield wish if wish.minor is not None else _newest(_branch(wish))


def _of_range(text: str) -> Iterator[Version]:
    """From the newest release of a branch, or from a release, to the newest of another, or to a release."""
    low_text, _, high_text = text.partition(_RANGE)
    low, high = parse_version(low_text.strip()), parse_version(high_text.strip())
    first = low if low.minor is not None else _newest(_branch(low))
    last = high if high.minor is not None else _newest(_branch(high))
    if last < first:
        raise UsageError(f"--versions {text}: {last} is older than {first}")
    yield from (one for one in _offered() if first <= one <= last)


def _branch(wish: Version) -> list[Version]:
    found = [one for one in _offered() if one.family == wish.family]
    if not found:
        raise UnknownNameError("version", str(wish), sorted({one.branch for one in _offered()}))
    return found


def _newest(versions: Sequence[Version]) -> Version:
    return max(versions)


def _offered() -> list[Version]:
    """All releases that the lab can get, the oldest first."""
    return sorted({parse_version(one.version) for one in offered_versions(newest_only=False)})


# What else differs


def _explained(found: Bisect, releases: Sequence[Release], experiment: Experiment) -> Bisect:
    """Every change with the defaults that differ and what the servers did otherwise."""
    if not found.changes:
        return found
    by_name = {one.name: one for one in releases}
    trials = read_run(experiment.folder.path).trials
    changes = tuple(
        replace(one, defaults=_defaults(by_name[one.before], by_name[one.after]), why=_why(one, trials))
        for one in found.changes
    )
    return replace(found, changes=changes)


def _defaults(before: Release, after: Release) -> tuple[DefaultChanged, ...]:
    """Settings whose default is another one, or that one of the two does not have."""
    old, new = _boot_values(before), _boot_values(after)
    return tuple(
        DefaultChanged(setting=name, before=old.get(name), after=new.get(name))
        for name in sorted({*old, *new}, key=str.lower)
        if old.get(name) != new.get(name) and name not in _OF_BUILDS
    )


#: These say what a build is, not how it works.
_OF_BUILDS = frozenset(("server_version", "server_version_num"))


def _boot_values(release: Release) -> Mapping[str, str]:
    asked = _asked(release)
    catalog = settings_catalog(find_source(asked.version, asked.bindir).ensure())
    return {one.name: one.boot_val if one.boot_val is not None else "" for one in catalog.settings}


def _why(change: ChangeFound, trials: Sequence[TrialRecord]) -> str | None:
    """What the servers of both did otherwise, from the blocks that have both."""
    blocks: dict[int, dict[str, TrialRecord]] = {}
    for trial in trials:
        if trial.load is not None and trial.spec.arm in (change.before, change.after):
            blocks.setdefault(trial.spec.block, {})[trial.spec.arm] = trial
    pairs = [(one[change.before], one[change.after]) for one in blocks.values() if len(one) == 2]
    activity = compare_activity(pairs)
    if activity is None:
        return None
    slower = "b" if change.effect.ratio < 1 else "a"
    return why_words(find_causes(activity, slower), (change.before, change.after))
