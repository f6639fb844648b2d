"""The two charts of a report as data: every trial's line, the mean of each arm, and the published steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pgclinic.load.by_second import full_seconds
from pgclinic.model.run import Second
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.samples.means import mean_by_place

Values = tuple[float | None, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a chart: a trial's, or the mean of an arm where ``trial`` is None. ``arm`` is the arm's index."""

    arm: int
    values: Values
    trial: int | None = None


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """Published windows of ``window_s`` seconds, drawn as steps from second 0."""

    arm: int
    window_s: float
    values: tuple[float, ...]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart. ``unit`` stands behind every value; means come after the trials so that they are drawn on top."""

    name: str
    unit: str
    lines: tuple[Line, ...]
    steps: tuple[Steps, ...] = ()

    @property
    def means(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.trial is None)


class ChartData(msgspec.Struct, frozen=True, kw_only=True):
    """What the page's script draws. ``x`` is the middle of each second, from the start of measuring.

    ``log`` asks for logarithmic axes, on which a second without a transaction leaves a gap.
    """

    arms: tuple[str, ...]
    x: tuple[float, ...]
    charts: tuple[Chart, ...]
    log: bool = False


def chart_data(
    study: Study, trials: Sequence[TrialRecord], seconds: Sequence[Second], *, log: bool = False
) -> ChartData:
    """Both charts from the live series. A second that the end of the trial shortened is left out."""
    arms = tuple(study.arms)
    kept = _full_only(trials, seconds)
    shown = tuple(second for second in kept if second.arm in arms)
    done = {trial.spec.number for trial in trials if trial.outcome is TrialOutcome.DONE}
    steps = _published(study, arms)
    measured = max((second.second + 1 for second in shown), default=0)
    length = max([measured, *(round(len(step.values) * step.window_s) for step in steps)]) if shown else 0
    tps = Chart(
        name="tps",
        unit="TPS",
        lines=_lines(arms, shown, done, length, lambda second: round(second.tps, 1)),
        steps=steps,
    )
    hits = Chart(
        name="hits", unit="hits/txn", lines=_lines(arms, shown, done, length, lambda s: s.buffer_hits_per_transaction)
    )
    return ChartData(arms=arms, x=tuple(second + 0.5 for second in range(length)), charts=(tps, hits), log=log)


def _full_only(trials: Sequence[TrialRecord], seconds: Sequence[Second]) -> list[Second]:
    ends = {trial.spec.number: full_seconds(trial.load) for trial in trials if trial.load is not None}
    return [second for second in seconds if second.second < ends.get(second.trial, second.second + 1)]


def _lines(
    arms: Sequence[str],
    seconds: Sequence[Second],
    done: set[int],
    length: int,
    value_of: Callable[[Second], float | None],
) -> tuple[Line, ...]:
    by_trial: dict[int, list[Second]] = {}
    for second in seconds:
        by_trial.setdefault(second.trial, []).append(second)
    every = [
        Line(arm=arms.index(rows[0].arm), values=_placed(rows, length, value_of), trial=number)
        for number, rows in sorted(by_trial.items())
    ]
    # A line without a value would be drawn as an empty chart.
    single = [line for line in every if any(value is not None for value in line.values)]
    means = []
    for index in range(len(arms)):
        own = [line.values for line in single if line.arm == index and line.trial in done]
        if own:
            means.append(Line(arm=index, values=_mean_values(own)))
    return (*single, *means)


def _placed(rows: Sequence[Second], length: int, value_of: Callable[[Second], float | None]) -> Values:
    values: list[float | None] = [None] * length
    for row in rows:
        if 0 <= row.second < length:
            values[row.second] = value_of(row)
    return tuple(values)


def _mean_values(own: Sequence[Values]) -> Values:
    """The mean of each second over the trials that have it."""
    return tuple(None if value is None else round(value, 2) for value in mean_by_place(own))


def _published(study: Study, arms: Sequence[str]) -> tuple[Steps, ...]:
    windows = [claim.published_windows for claim in study.claims if claim.published_windows is not None]
    return tuple(Steps(arm=arms.index(window.arm), window_s=window.window_s, values=window.tps) for window in windows)
