"""The road of ``pgclinic search``: values to try, trials, a confirmed configuration as a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.live import LiveLine
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_options import Asked
from pgclinic.cli.tuning_run import Arm, about, new_experiment, resumed_experiment
from pgclinic.cli.tuning_settings import settings_of_base
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.plan import ArmSpec
from pgclinic.model.progress import Progress
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import Aim, Levels, Risk, Search
from pgclinic.model.version import NEWEST_MAJOR
from pgclinic.report.climb_text import climb_line
from pgclinic.report.found_conf import found_conf
from pgclinic.report.words.figures import count
from pgclinic.settings.values import parse_integer, unit_size
from pgclinic.store.document import refuse_existing, write_new
from pgclinic.store.machine import read_machine
from pgclinic.trial.server import binaries_of
from pgclinic.tune.ask import Strategy
from pgclinic.tune.difference import BASE
from pgclinic.tune.guard import Guard
from pgclinic.tune.ledger import Ledger
from pgclinic.tune.levels import allowed, levels_of
from pgclinic.tune.prior import Machine, prior
from pgclinic.tune.propose import SearchPlan
from pgclinic.tune.search import search
from pgclinic.tune.start_check import starter, usable_levels

UNDECIDED = 4
START = "start"
P99_TIMES, MEMORY_SHARE = 1.1, 0.5
_RISKS = tuple(one.value for one in Risk if one not in (Risk.NONE, Risk.MEANING))
_CONF = "found.conf"


@dataclass(frozen=True)
class SearchRequest:
    """What the command line asked for."""

    worst: bool
    best: bool
    base: Path | None
    start: Path | None
    allow: tuple[str, ...]
    only: tuple[str, ...]
    within: str
    p99: str | None
    memory: str | None
    output: Path | None
    force: bool
    asked: Asked
    resume: Path | None
    budget_is_given: bool = False


def run_search(request: SearchRequest) -> int:
    if request.output is not None:
        refuse_existing(request.output, force=request.force)
    with LiveLine(sys.stderr) as live:
        experiment, levels = _prepared(request, live)
        base = experiment.plan.arms[BASE]
        shown = _ClimbShown(live, levels.aim)

        def strategy(ledger: Ledger) -> Strategy[Search]:
            shown.plan = _plan(levels, ledger, base)
            return search(shown.plan, levels.aim, seed=experiment.info.seed, within_s=levels.within_s)

        found = run_tuning(experiment, base, strategy, live, shown.on_progress)
    written = _written(experiment, levels, found, request)
    finish_tuning(experiment, found, as_json=request.asked.as_json, files=written)
    return 0 if found.settings and found.effect is not None else UNDECIDED


class _ClimbShown:
    """A line for each step that was kept. ``plan`` is the latest, which has gone through all records that there are."""

    def __init__(self, live: LiveLine, aim: Aim) -> None:
        self._live = live
        self._aim = aim
        self._shown = 0
        self.plan: SearchPlan | None = None

    def on_progress(self, progress: Progress) -> None:
        kept = [step for step in self.plan.climb.steps if step.accepted] if self.plan is not None else []
        for number, step in enumerate(kept[self._shown :], start=self._shown + 1):
            self._live.note(climb_line(step, number, self._aim))
        self._shown = max(self._shown, len(kept))
        self._live.progress(progress)


def _plan(levels: Levels, ledger: Ledger, base: ArmSpec) -> SearchPlan:
    return SearchPlan(
        levels.usable,
        ledger,
        levels.aim,
        catalog=settings_catalog(binaries_of(base.server)),
        start=levels.start,
        guard=Guard(levels.p99_times, levels.memory_bytes),
    )


def _prepared(request: SearchRequest, live: LiveLine) -> tuple[Experiment, Levels]:
    """A new run with its values checked, or an interrupted one with those that it has."""
    if request.resume is not None:
        if request.worst or request.best or request.base is not None or request.start is not None:
            raise UsageError("--resume uses the aim, the settings and the workload of the run: omit them")
        budget = request.asked.budget if request.budget_is_given else None
        experiment, _ = resumed_experiment(RunKind.SEARCH, request.resume, budget, live)
        return experiment, experiment.folder.read_levels()
    wanted = _wanted(request)
    base = settings_of_base(request.base, request.asked, live)
    start = settings_of_base(request.start, request.asked, live)
    arms = {BASE: Arm(base, about(base)), START: Arm({**base, **start}, about(start))}
    experiment = new_experiment(RunKind.SEARCH, request.asked, arms, live)
    levels = _checked_levels(wanted, experiment, start, request, live)
    experiment.folder.write_levels(levels)
    return experiment, levels


@dataclass(frozen=True)
class _Wanted:
    aim: Aim
    risks: tuple[Risk, ...]
    within_s: float
    p99_times: float | None
    memory_bytes: float | None


def _wanted(request: SearchRequest) -> _Wanted:
    """Raises UsageError, UnknownNameError, before anything is done."""
    if request.worst == request.best:
        raise UsageError("name one of --worst and --best")
    for risk in request.allow:
        if risk not in _RISKS:
            raise UnknownNameError("risk", risk, _RISKS, where="--allow")
    aim = Aim.WORST if request.worst else Aim.BEST
    given = [name for name, value in (("--p99", request.p99), ("--memory", request.memory)) if value is not None]
    if given and aim is Aim.WORST:
        raise UsageError(f"{given[0]} is for --best")
    return _Wanted(
        aim=aim,
        risks=tuple(Risk(one) for one in request.allow),
        within_s=parse_duration_s(request.within, "--within"),
        p99_times=_times(request.p99) if aim is Aim.BEST else None,
        memory_bytes=_memory(request.memory) if aim is Aim.BEST else None,
    )


def _times(text: str | None) -> float:
    if text is None:
        return P99_TIMES
    try:
        value = float(text.strip().removesuffix("x"))
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise UsageError(f"--p99 {text!r} is not a ratio", hint="write --p99 1.1x")
    return value


def _memory(text: str | None) -> float:
    if text is None:
        return MEMORY_SHARE * read_machine().memory_bytes
    try:
        return parse_integer(text, "kB", NEWEST_MAJOR) * unit_size("kB")
    except ValueError as error:
        raise UsageError(f"--memory {text!r}: {error}", hint="write --memory 4GB") from None


def _checked_levels(
    wanted: _Wanted, experiment: Experiment, start: Mapping[str, str], request: SearchRequest, live: LiveLine
) -> Levels:
    """The values that a server of this version starts with, and those that it may not try."""
    base = experiment.plan.arms[BASE]
    binaries = binaries_of(base.server)
    catalog = settings_catalog(binaries)
    for name in request.only:
        if catalog.find(name) is None:
            raise UnknownNameError("setting", name, catalog.names(), where="--only")
    machine = read_machine()
    every = levels_of(
        catalog,
        prior(),
        wanted.aim,
        base=base.settings,
        machine=Machine(machine.memory_bytes, machine.cores),
        taken=("max_connections",),
    )
    if request.only:
        names = {setting.name for one in request.only if (setting := catalog.find(one)) is not None}
        every = tuple(one for one in every if one.setting in names)
    may, may_not = allowed(every, wanted.risks)

    def on_checked(done: int, of: int) -> None:
        live.stage(f"checking which values a server starts with: {done} of {of}")

    tried = usable_levels(may, starter(binaries, base.settings), catalog, on_checked)
    live.close()
    levels = Levels(
        aim=wanted.aim,
        tried=tried,
        left_out=may_not,
        start=dict(start),
        p99_times=wanted.p99_times,
        memory_bytes=wanted.memory_bytes,
        within_s=wanted.within_s,
    )
    if not levels.usable:
        raise UsageError("there is no value to try", hint="--allow RISK, or another --only")
    settings = len({one.setting for one in levels.usable})
    print(
        f"{count(len(levels.usable), 'value')} of {count(settings, 'setting')} to try, "
        f"{len(tried) - len(levels.usable)} with which no server starts, {len(may_not)} left out for their risk",
        file=sys.stderr,
    )
    return levels


def _written(experiment: Experiment, levels: Levels, found: Search, request: SearchRequest) -> list[tuple[str, Path]]:
    """The configuration as a file: in the run, and where the user wants it."""
    if not found.settings:
        return []
    text = found_conf(found, levels, experiment.info)
    path = experiment.folder.path / _CONF
    write_new(path, text.encode(), force=True)
    if request.output is None:
        return [("settings", path)]
    write_new(request.output, text.encode(), force=request.force)
    return [("settings", request.output)]
