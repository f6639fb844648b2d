"""Throughput over time, and the work behind each transaction: trials, the mean of each arm, what was published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.model.run import Second
from pgclinic.model.study import Counter, Question, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.report.parts.time_chart import ChartLine, DrawnCharts, Steps, TimeChart, thinned_all
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.sections.throughput.lines import (
    arm_ink,
    arm_lines,
    by_second,
    full_only,
    second_chart,
    turns_words,
)
from pgclinic.report.words.figures import number
from pgclinic.report.words.verdicts import claim_of
from pgclinic.samples.means import mean_known

#: Nobody reads a table with more rows than this.
ROWS_MAX = 300


def tps_chart(study: Study, trials: Sequence[TrialRecord], seconds: Sequence[Second], *, log: bool) -> TimeChart:
    """Commits a second, with what was published."""
    lines = arm_lines(tuple(study.arms), trials, seconds, lambda second: round(second.tps, 1))
    return second_chart("tps", "Transactions per second", "TPS", lines, _published(study) if lines else (), log=log)


def hits_chart(study: Study, trials: Sequence[TrialRecord], seconds: Sequence[Second], *, log: bool) -> TimeChart:
    """Buffer hits per transaction."""
    lines = arm_lines(tuple(study.arms), trials, seconds, lambda second: second.buffer_hits_per_transaction)
    return second_chart("hits", "Buffer hits per transaction", "hits/txn", lines, log=log)


def _published(study: Study) -> tuple[Steps, ...]:
    windows = [claim.published_windows for claim in study.claims if claim.published_windows is not None]
    return tuple(
        Steps(name=f"published, {window.arm}", window_s=window.window_s, values=window.tps) for window in windows
    )


@dataclass(frozen=True)
class ShownChart:
    """``heads`` and ``rows`` are its means as a table with ``caption``; ``label`` is for readers who cannot see it."""

    id: str
    title: str
    lead: str
    label: str
    chart: TimeChart
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def shown_chart(ident: str, title: str, lead: str, label: str, chart: TimeChart) -> ShownChart:
    """A chart with the same figures as a table."""
    heads, rows = chart_table(chart)
    caption = f"{label}{', mean of the trials' if chart.has_trials else ''}, {chart.measured_in}"
    return ShownChart(ident, title, lead, label, chart, caption, heads, rows)


@dataclass(frozen=True)
class ThroughputView:
    shown: tuple[ShownChart, ...]

    @property
    def drawn(self) -> Mapping[str, object]:
        return {"charts-throughput": DrawnCharts(charts=tuple(one.chart for one in self.shown))}


def _view(shown: Sequence[ShownChart]) -> ThroughputView | None:
    """With their charts thinned, for their tables are made; None without any."""
    charts = thinned_all([one.chart for one in shown])
    thin = tuple(replace(one, chart=chart) for one, chart in zip(shown, charts, strict=True))
    return ThroughputView(thin) if thin else None


def throughput_view(one: ReportedStudy) -> ThroughputView | None:
    """The charts that some claim is about; else a curve answers a question that nobody asked."""
    log = is_ladder(one.verdict)
    claims = [claim_of(one.study, claim) for claim in one.verdict.claims]
    throughput = any(claim.measure in OF_THE_LOAD for claim in claims)
    hits = throughput or any(Counter.BUFFER_HITS_PER_TRANSACTION in _counters(claim) for claim in claims)
    shown = []
    if throughput:
        words = " The axis is logarithmic; a second without a finished transaction is a gap." if log else ""
        shown.append(
            shown_chart(
                "over-time",
                "Throughput over time",
                f"Transactions per second (TPS) from the start of each trial. More is better.{words}"
                + turns_words(one.trials),
                "Transactions per second of every arm over the seconds of a trial",
                tps_chart(one.study, one.trials, one.seconds, log=log),
            )
        )
    if hits:
        shown.append(_hits(hits_chart(one.study, one.trials, one.seconds, log=log)))
    return _view([each for each in shown if each.rows])


def bench_throughput(one: ReportedBench) -> ThroughputView | None:
    """The seconds of one load, with its failed transactions where there are any."""
    number, seconds = one.trial.spec.number, full_only([one.trial], one.seconds)
    lines = [ChartLine(name="committed", ink=arm_ink(0), values=by_second(seconds, lambda one: round(one.tps, 1)))]
    if any(second.failed for second in seconds):
        lines.append(ChartLine(name="failed", ink="bad", values=by_second(seconds, lambda one: float(one.failed))))
    chart = second_chart("tps", "Transactions per second", "TPS", lines, trial=number)
    shown = shown_chart(
        "over-time",
        "Throughput over time",
        "Transactions per second (TPS) from the start of measuring.",
        "Transactions per second over the seconds of the load",
        chart,
    )
    hits = by_second(seconds, lambda one: one.buffer_hits_per_transaction)
    work = [ChartLine(name="buffer hits", ink=arm_ink(0), values=hits)] if any(hits) else []
    charts = (shown, _hits(second_chart("hits", "Buffer hits per transaction", "hits/txn", work, trial=number)))
    return _view([each for each in charts if each.rows])


def _hits(chart: TimeChart) -> ShownChart:
    return shown_chart(
        "hits",
        "Work behind each transaction",
        "Buffer hits per transaction: the number of buffers that the server accessed for one transaction. "
        "If throughput falls while this rises, each transaction has become more work.",
        "Buffer hits per transaction of every arm over the seconds of a trial",
        chart,
    )


def _counters(claim: Question) -> tuple[str, ...]:
    """What a claim compares, and what it names as its cause."""
    return (claim.measure, *(mechanism.counter for mechanism in claim.mechanisms))


def chart_table(chart: TimeChart) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The named lines as a table, for those who cannot see them or want the figures; long charts in longer steps."""
    lines = [line for _, line in chart.named]
    step = max(1, math.ceil(len(chart.from_s) / ROWS_MAX))
    rows = []
    for begin in range(0, len(chart.from_s), step):
        cells = [mean_known(line.values[begin : begin + step]) for line in lines]
        if any(cell is not None for cell in cells):
            head = str(begin + 1) if step == 1 else f"{begin + 1} to {begin + step}"
            rows.append((head, *(number(cell) if cell is not None else "-" for cell in cells)))
    return ("Second", *(line.name for line in lines)), tuple(rows)
