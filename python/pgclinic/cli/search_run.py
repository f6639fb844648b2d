"""The road of ``pgclinic search``: values to try, trials, a confirmed configuration as a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.exit_codes import UNDECIDED
from pgclinic.cli.live import LiveView
from pgclinic.cli.output import say
from pgclinic.cli.search import SearchRequest
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_run import TuningArm, about, new_experiment, resumed_experiment
from pgclinic.cli.tuning_settings import settings_of_base
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.progress import Progress
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import Aim, Levels, Risk, Search, SettingLevel
from pgclinic.model.version import NEWEST_MAJOR
from pgclinic.report.live.view import climb_lines
from pgclinic.report.sections.climb.text import climb_line
from pgclinic.report.words.figures import count
from pgclinic.settings.catalog import SettingsCatalog
from pgclinic.settings.values import parse_integer, unit_size
from pgclinic.store.document import refuse_existing, write_new
from pgclinic.store.machine import read_machine
from pgclinic.trial.server import binaries_of
from pgclinic.tune.ask import Strategy
from pgclinic.tune.difference import BASE
from pgclinic.tune.guard import Guard
from pgclinic.tune.ledger import Ledger
from pgclinic.tune.levels import allowed, levels_of
from pgclinic.tune.prior import HostSize, prior
from pgclinic.tune.propose import SearchPlan
from pgclinic.tune.search import search
from pgclinic.tune.start_check import starter, usable_levels

START = "start"
P99_TIMES, MEMORY_SHARE = 1.1, 0.5
_RISKS = tuple(risk.value for risk in Risk if risk not in (Risk.NONE, Risk.MEANING))
_CONF = "found.conf"


@dataclass(frozen=True)
class _SearchLimits:
    """What a search looks for, and what it may not do, as the options say."""

    aim: Aim
    risks: tuple[Risk, ...]
    within_s: float
    p99_times: float | None
    memory_bytes: float | None


def run_search(request: SearchRequest) -> int:
    """Search, confirm, write and print the configuration, and return the exit code."""
    if request.output is not None:
        refuse_existing(request.output, force=request.force)
    with LiveView(sys.stderr, plain=request.tuning.plain) as live:
        experiment, levels = _prepared(request, live)
        base = experiment.plan.arms[BASE]
        shown = _ClimbShown(live, levels.aim)
        live.beside = shown.lines

        def strategy(ledger: Ledger) -> Strategy[Search]:
            shown.plan = _plan(levels, ledger, base)
            return search(shown.plan, levels.aim, seed=experiment.info.seed, within_s=levels.within_s)

        found = run_tuning(experiment, base, strategy, live, shown.on_progress)
    written = _written(experiment, levels, found, request)
    finish_tuning(experiment, found, as_json=request.tuning.as_json, files=written)
    return 0 if found.settings and found.effect is not None else UNDECIDED


class _ClimbShown:
    """A line for each step that was kept. ``plan`` is the latest, which has gone through all records that there are."""

    def __init__(self, live: LiveView, aim: Aim) -> None:
        self._live = live
        self._aim = aim
        self._shown = 0
        self.plan: SearchPlan | None = None

    def lines(self, columns: int) -> list[Text]:
        """How far the climb is."""
        if self.plan is None:
            return []
        climb = self.plan.climb
        return climb_lines(climb.steps, self._aim, adding=climb.adding, leaving_out=climb.leaving_out)

    def on_progress(self, progress: Progress) -> None:
        kept = [step for step in self.plan.climb.steps if step.accepted] if self.plan is not None else []
        for number, step in enumerate(kept[self._shown :], start=self._shown + 1):
            self._live.say(climb_line(step, number, self._aim))
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


def _prepared(request: SearchRequest, live: LiveView) -> tuple[Experiment, Levels]:
    """Return a new run with its values checked, or an interrupted one with those that it has."""
    if request.tuning.run.resume is not None:
        beside = ("--output", "--force")
        experiment, _ = resumed_experiment(RunKind.SEARCH, request.tuning, live, beside=beside)
        return experiment, experiment.folder.read_levels()
    limits = _limits(request)
    base = settings_of_base(request.base, request.server, live)
    start = settings_of_base(request.start, request.server, live)
    server = request.server.asked()
    arms = {
        BASE: TuningArm(base, about(base), server),
        START: TuningArm({**base, **start}, about(start), server),
    }

    def levels_of(plan: ExperimentPlan) -> Levels:
        return _checked_levels(limits, plan, start, request.only, live)

    experiment = new_experiment(RunKind.SEARCH, request.tuning, arms, live, levels_of=levels_of)
    return experiment, experiment.folder.read_levels()


def _limits(request: SearchRequest) -> _SearchLimits:
    """Raises UsageError, UnknownNameError, before anything is done."""
    if request.worst == request.best:
        raise UsageError("name one of --worst and --best")
    risks = (*request.allow, *((Risk.DURABILITY.value,) if request.allow_unsafe else ()))
    for risk in risks:
        if risk not in _RISKS:
            raise UnknownNameError("risk", risk, _RISKS, where="--allow")
    aim = Aim.WORST if request.worst else Aim.BEST
    given = [name for name, value in (("--p99", request.p99), ("--memory", request.memory)) if value is not None]
    if given and aim is Aim.WORST:
        raise UsageError(f"{given[0]} is for --best")
    return _SearchLimits(
        aim=aim,
        risks=tuple(Risk(risk) for risk in risks),
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
    limits: _SearchLimits, plan: ExperimentPlan, start: Mapping[str, str], only: Sequence[str], live: LiveView
) -> Levels:
    """Return the values that a server of this version starts with, and those that the search may not try."""
    base = plan.arms[BASE]
    binaries = binaries_of(base.server)
    catalog = settings_catalog(binaries)
    may, may_not = allowed(_every_level(catalog, limits.aim, base, only), limits.risks)

    def on_checked(done: int, of: int) -> None:
        live.stage(f"checking which values a server starts with: {done} of {of}")

    tried = usable_levels(may, starter(binaries, base.settings), catalog, on_checked)
    live.clear()
    levels = Levels(
        aim=limits.aim,
        tried=tried,
        left_out=may_not,
        start=dict(start),
        p99_times=limits.p99_times,
        memory_bytes=limits.memory_bytes,
        within_s=limits.within_s,
    )
    if not levels.usable:
        raise UsageError("there is no value to try", hint="--allow RISK, or another --only")
    settings = {level.setting for level in levels.usable}
    say(
        f"{count(len(levels.usable), 'value')} of {count(len(settings), 'setting')} to try, "
        f"{len(tried) - len(levels.usable)} with which no server starts, {len(may_not)} left out for their risk"
    )
    return levels


def _every_level(catalog: SettingsCatalog, aim: Aim, base: ArmSpec, only: Sequence[str]) -> tuple[SettingLevel, ...]:
    """Return the values of the settings in ``only``, of all settings where it is empty. Raises UnknownNameError."""
    names = set()
    for name in only:
        setting = catalog.find(name)
        if setting is None:
            raise UnknownNameError("setting", name, catalog.names(), where="--only")
        names.add(setting.name)
    machine = read_machine()
    every = levels_of(
        catalog,
        prior(),
        aim,
        base=base.settings,
        machine=HostSize(machine.memory_bytes, machine.cores),
        taken=("max_connections",),
    )
    return tuple(level for level in every if not names or level.setting in names)


def _written(experiment: Experiment, levels: Levels, found: Search, request: SearchRequest) -> list[tuple[str, Path]]:
    """Write the configuration into the run, and where the user wants it; return what the answer points to."""
    from pgclinic.report.exports.found_conf import found_conf

    if not found.settings:
        return []
    text = found_conf(found, levels, experiment.info)
    path = experiment.folder.path / _CONF
    write_new(path, text.encode(), force=True)
    if request.output is None:
        return [("settings", path)]
    write_new(request.output, text.encode(), force=request.force)
    return [("settings", request.output)]
