"""The two charts of a report as data: every trial's line, the mean of each arm, and the published steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.load.by_second import full_seconds
from pgclinic.model.run import Second
from pgclinic.model.study import Counter, Question, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.words.figures import number
from pgclinic.report.words.verdicts import claim_of
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


@dataclass(frozen=True)
class ShownChart:
    """``rows`` are the means of the chart as a table; ``label`` is for readers who cannot see it."""

    id: str
    title: str
    lead: str
    label: str
    chart: Chart
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ThroughputView:
    charts: ChartData
    shown: tuple[ShownChart, ...]

    @property
    def drawn(self) -> Mapping[str, object]:
        return {"data": self.charts}


def throughput_view(one: ReportedStudy) -> ThroughputView | None:
    """The charts that some claim is about; else a curve answers a question that nobody asked."""
    charts = chart_data(one.study, one.trials, one.seconds, log=is_ladder(one.verdict))
    claims = [claim_of(one.study, claim) for claim in one.verdict.claims]
    throughput = any(claim.measure in OF_THE_LOAD for claim in claims)
    hits = throughput or any(Counter.BUFFER_HITS_PER_TRANSACTION in _counters(claim) for claim in claims)
    shown = []
    tps_chart, hits_chart = charts.charts
    if throughput and tps_chart.means:
        log = " The axis is logarithmic; a second without a finished transaction is a gap." if charts.log else ""
        shown.append(
            ShownChart(
                id="over-time",
                title="Throughput over time",
                lead=f"Transactions per second (TPS) from the start of each trial. More is better.{log}",
                label="Transactions per second of every arm over the seconds of a trial",
                chart=tps_chart,
                rows=chart_rows(charts, tps_chart),
            )
        )
    if hits and hits_chart.means:
        shown.append(
            ShownChart(
                id="hits",
                title="Work behind each transaction",
                lead="Buffer hits per transaction: the number of buffers that the server accessed for one transaction. "
                "If throughput falls while this rises, each transaction has become more work.",
                label="Buffer hits per transaction of every arm over the seconds of a trial",
                chart=hits_chart,
                rows=chart_rows(charts, hits_chart),
            )
        )
    return ThroughputView(charts, tuple(shown)) if shown else None


def _counters(claim: Question) -> tuple[str, ...]:
    """What a claim compares, and what it names as its cause."""
    return (claim.measure, *(mechanism.counter for mechanism in claim.mechanisms))


def chart_rows(charts: ChartData, chart: Chart) -> tuple[tuple[str, ...], ...]:
    """The means of a chart as a table, for those who cannot see it or want the figures: second, one cell an arm."""
    means = {line.arm: line.values for line in chart.means}
    rows = []
    for index in range(len(charts.x)):
        cells = [means[arm][index] if arm in means else None for arm in range(len(charts.arms))]
        if any(cell is not None for cell in cells):
            rows.append((str(index + 1), *(number(cell) if cell is not None else "-" for cell in cells)))
    return tuple(rows)
