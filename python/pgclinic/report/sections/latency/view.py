"""Latency over time: percentiles of every second, and where the engine kept each second's histogram a heat map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.load.by_second import full_seconds
from pgclinic.model.run import Second
from pgclinic.model.trial import TrialRecord
from pgclinic.report.parts.time_chart import ChartLine, DrawnCharts, Heat, TimeChart, Values, thinned_all
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.sections.throughput.lines import arm_lines, by_second, full_only, second_chart, turns_words
from pgclinic.report.sections.throughput.view import ShownChart, shown_chart
from pgclinic.report.words.figures import number
from pgclinic.report.words.verdicts import claim_of
from pgclinic.samples.latency import LatencySecond, classes_of, latency_by_second, latency_edges_us

#: Classes of the heat map for each factor of ten: neighbours differ by a quarter.
_PER_DECADE = 10
_PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_NO_HISTOGRAMS = (
    "No heat map: the load engine kept p50, p99 and the maximum of each second, not its histogram. "
    "pgclinic bench keeps histograms with --observe, --report or --hdr."
)


@dataclass(frozen=True)
class LatencyView:
    """``missing`` says what is not drawn, and why."""

    lead: str
    shown: tuple[ShownChart, ...]
    missing: str = ""

    @property
    def drawn(self) -> Mapping[str, object]:
        return {"charts-latency": DrawnCharts(charts=tuple(one.chart for one in self.shown))}


def latency_view(one: ReportedStudy) -> LatencyView | None:
    """Means over the trials of each arm, where a claim is about the load."""
    if not any(claim_of(one.study, claim).measure in OF_THE_LOAD for claim in one.verdict.claims):
        return None
    log, arms = is_ladder(one.verdict), tuple(one.study.arms)
    highest = {
        (trial.spec.number, second.second): second.max_us
        for trial in one.trials
        if trial.load is not None
        for second in latency_by_second(trial.load.seconds)
    }
    figures: tuple[tuple[str, str, Callable[[Second], float | None]], ...] = (
        ("p50", "Median (p50)", lambda second: _ms(second, second.latency_us_p50)),
        ("p99", "99th percentile (p99)", lambda second: _ms(second, second.latency_us_p99)),
        ("max", "Maximum", lambda second: _ms(second, highest.get((second.trial, second.second)))),
    )
    shown = []
    for name, title, value_of in figures:
        lines = arm_lines(arms, one.trials, one.seconds, value_of, single=False)
        chart = second_chart(f"latency-{name}", f"Latency, {name}", "ms", lines, log=log)
        shown.append(
            shown_chart(
                f"latency-{name}",
                title,
                "",
                f"Latency of a transaction, {name}, mean of the trials of every arm",
                chart,
            )
        )
    lead = "Latency of the transactions of each second, the mean over the trials of each arm. Less is better."
    return _view(lead + turns_words(one.trials), shown)


def bench_latency(one: ReportedBench) -> LatencyView | None:
    """Of one load, all scripts together."""
    load, number = one.trial.load, one.trial.spec.number
    if load is None:
        return None
    seconds = [each for each in latency_by_second(load.seconds) if each.second < full_seconds(load)]
    lines = [
        ChartLine(name=name, ink=f"part-{place}", values=values)
        for place, (name, values) in enumerate(_percentile_lines(one.trial, one.seconds, seconds))
    ]
    chart = second_chart("latency", "Latency percentiles", "ms", lines, log=True, trial=number)
    shown = [
        shown_chart(
            "latency-percentiles",
            "Percentiles",
            "Of the transactions of each second; the axis is logarithmic.",
            "Percentiles of the latency of a transaction over the seconds of the load",
            chart,
        )
    ]
    if all(each.counts is not None for each in seconds):
        shown += _heat_map(seconds, number)
        return _view("How long transactions took, by the second in which they ended.", shown)
    return _view("How long transactions took, by the second in which they ended.", shown, _NO_HISTOGRAMS)


def _view(lead: str, shown: Sequence[ShownChart], missing: str = "") -> LatencyView | None:
    """With the charts thinned, for their tables are made; None where nothing finished."""
    known = [one for one in shown if one.rows]
    charts = thinned_all([one.chart for one in known])
    thin = tuple(replace(one, chart=chart) for one, chart in zip(known, charts, strict=True))
    return LatencyView(lead, thin, missing) if thin else None


def _ms(second: Second, latency_us: float | None) -> float | None:
    """A second in which nothing finished has no latency."""
    return latency_us / 1000 if second.tps > 0 and latency_us is not None else None


def _percentile_lines(
    trial: TrialRecord, reported: Sequence[Second], seconds: Sequence[LatencySecond]
) -> Iterator[tuple[str, Values]]:
    """By the histograms, or else what the engine reported of each second."""
    length = max((each.second + 1 for each in seconds), default=0)
    if all(each.counts is not None for each in seconds):
        for percent in _PERCENTILES:
            of_second = partial(LatencySecond.percentile_us, percent=percent)
            yield f"p{percent:g}", _by_second(seconds, length, of_second)
    else:
        full = full_only([trial], reported)
        yield "p50", by_second(full, lambda one: _ms(one, one.latency_us_p50))
        yield "p99", by_second(full, lambda one: _ms(one, one.latency_us_p99))
    yield "max", _by_second(seconds, length, lambda each: each.max_us)


def _by_second(seconds: Sequence[LatencySecond], length: int, us_of: Callable[[LatencySecond], int | None]) -> Values:
    values: list[float | None] = [None] * length
    for each in seconds:
        value_us = us_of(each)
        values[each.second] = None if value_us is None else value_us / 1000
    return tuple(values)


def _heat_map(seconds: Sequence[LatencySecond], trial: int) -> Iterator[ShownChart]:
    """Every transaction in the class of its latency."""
    edges_us = latency_edges_us(seconds, _PER_DECADE)
    if not edges_us:
        return
    length = max(each.second + 1 for each in seconds)
    by_time = {each.second: classes_of(each, edges_us) for each in seconds}
    chart = TimeChart(
        id="heat",
        title="Transactions by latency",
        unit=" ms",
        measured_in="transactions",
        shape="heat",
        span_s=(0.0, float(length)),
        from_s=tuple(float(second) for second in range(length)),
        to_s=tuple(second + 1.0 for second in range(length)),
        heat=Heat(
            edges=tuple(float(f"{edge / 1000:.4g}") for edge in edges_us),
            cells=tuple(by_time.get(second, ()) for second in range(length)),
        ),
        trial=trial,
        log=True,
    )
    heads, rows = _heat_table(chart)
    yield ShownChart(
        id="latency-heat",
        title="Heat map",
        lead="The stronger the colour of a cell, the more transactions of that second took that long. "
        "Two bands are two kinds of transactions, or one that sometimes waits.",
        label="Transactions by second and latency",
        chart=chart,
        caption="Transactions of the whole load by latency",
        heads=heads,
        rows=rows,
    )


def _heat_table(chart: TimeChart) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A row for each class of latency, as there may be many seconds: how many transactions of the whole load."""
    assert chart.heat is not None
    sums = [0] * (len(chart.heat.edges) - 1)
    for row in chart.heat.cells:
        for place, amount in row:
            sums[place] += amount
    total = sum(sums)
    edges = chart.heat.edges
    rows = tuple(
        (f"{number(edges[place])} to {number(edges[place + 1])} ms", f"{amount:,}", f"{100 * amount / total:.2g} %")
        for place, amount in enumerate(sums)
        if amount
    )
    return ("Latency", "Transactions", "Share"), rows
