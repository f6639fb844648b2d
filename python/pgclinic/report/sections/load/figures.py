"""What pgclinic adds below pgbench's summary: percentiles, open loop, failures by SQLSTATE, thresholds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.bench.find_rate import SearchLength
from pgclinic.judge.thresholds import unit_of
from pgclinic.model.bench import BenchResult, RateSearchResult, RateTrial, Stability
from pgclinic.model.load import Histogram, LoadResult
from pgclinic.model.threshold import Threshold, ThresholdResult
from pgclinic.report.live.progress import clock
from pgclinic.report.sections.waits.two_arms import duration
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, number, percent
from pgclinic.samples.latency import percentiles_us
from pgclinic.trial.machine_doubts import stopped_load

_FAILURES_SHOWN = 8
_TEXT_MAX = 60


def own_lines(result: BenchResult) -> list[str]:
    """All of it; empty lines and headings are part of it."""
    load = result.load
    lines = ["", *search_lines(result)]
    lines += open_loop_lines(load)
    lines += _percentiles(result)
    lines += engine_lines(load)
    lines += _in_flight(load)
    lines += _failures(load)
    lines += threshold_lines(result)
    return lines


def search_lines(result: BenchResult) -> Iterator[str]:
    """What --find-rate or --until-stable found."""
    if result.rate_search is not None:
        yield from _rate_search(result.rate_search)
    if result.stability is not None:
        yield from _stability(result.stability)


def threshold_lines(result: BenchResult) -> Iterator[str]:
    """One line for each --fail-if."""
    for threshold in result.thresholds:
        yield _threshold(threshold)


def milliseconds(microseconds: float) -> str:
    """912 µs -> 0.912, with the significant digits."""
    return number(microseconds / 1000)


def percentile_words(histogram: Histogram, percentiles: Sequence[float]) -> str:
    """p50 0.9   p99 6.1   max 44 ms"""
    if not histogram.count:
        return "no transaction"
    values = percentiles_us(histogram, percentiles)
    parts = [f"p{p:g} {milliseconds(value)}" for p, value in zip(percentiles, values, strict=True)]
    return "   ".join([*parts, f"max {milliseconds(histogram.max_us)} ms"])


def latency_rows(histogram: Histogram, percentiles: Sequence[float]) -> Iterator[tuple[str, str]]:
    """Label and value of each, in the unit that suits it; none without a transaction."""
    if histogram.count:
        for percentile, value in zip(percentiles, percentiles_us(histogram, percentiles), strict=True):
            yield f"p{percentile:g} latency", duration(value)
        yield "maximum", duration(histogram.max_us)


def _percentiles(result: BenchResult) -> Iterator[str]:
    load, options = result.load, result.options
    start = "latency from intended start" if load.offered is not None else "latency"
    yield f"{start}   {percentile_words(load.latency, options.percentiles)}"
    if len(load.scripts) > 1 or options.latency_percentiles:
        width = max(len(script.name) for script in load.scripts)
        for script in load.scripts:
            tps = number(script.transactions / load.measured_s) if load.measured_s > 0 else "0"
            words = percentile_words(script.latency, options.percentiles)
            yield f"  {script.name:<{width}}   {tps}/s   {words}"
            if options.latency_percentiles:
                for command in script.statements:
                    text = " ".join(command.text.split())
                    short = text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 1] + "…"
                    words = percentile_words(command.latency, options.percentiles)
                    yield f"    line {command.line}   {words}   {short}"


def open_loop_lines(load: LoadResult) -> Iterator[str]:
    """How much of the offered rate was served; nothing in closed loop."""
    if load.offered is None:
        return
    unserved = load.unserved or 0
    offered_tps = load.offered / load.measured_s if load.measured_s > 0 else 0.0
    words = [f"{number(load.tps)} of {number(offered_tps)} TPS offered were served", f"{unserved:,} unserved"]
    if load.lag is not None and load.lag.count:
        words.append(f"generator lag p99 {milliseconds(load.lag.p99_us)} ms, max {milliseconds(load.lag.max_us)} ms")
    yield "offered   " + " · ".join(words)


def engine_lines(load: LoadResult) -> Iterator[str]:
    """What the engine itself used."""
    cpu_s = load.client_cpu_user_s + load.client_cpu_system_s
    done = load.transactions + load.rolled_back + load.failed
    words = [f"client CPU {cpu_s:.2f} s"]
    if done:
        words.append(f"{number(1e6 * cpu_s / done)} µs per transaction")
    words.append(f"busiest thread {percent(load.occupancy)}")
    words.append(load.engine.io)
    yield "engine   " + " · ".join(words)
    stopped = stopped_load(load)
    if stopped is not None:
        yield f"stopped   {doubt_words(stopped).text}: the figures are too low"


def _in_flight(load: LoadResult) -> Iterator[str]:
    if load.in_flight:
        oldest_us = max(work.age_us for work in load.in_flight)
        yield f"in flight   {count(len(load.in_flight), 'transaction')} at the end, the oldest for " + (
            f"{milliseconds(oldest_us)} ms"
        )
    if load.clients_lost:
        yield f"clients   {load.clients_lost} of {load.clients} were aborted"


def _failures(load: LoadResult) -> Iterator[str]:
    ranked = sorted(load.failures, key=lambda failure: -failure.count)
    for failure in ranked[:_FAILURES_SHOWN]:
        where = failure.script or "connecting"
        place = f"{where}, command {failure.command}" if failure.command >= 0 else where
        yield f"failed   {failure.sqlstate}   {failure.count:,}x   {place}: {failure.message}"
    if len(ranked) > _FAILURES_SHOWN:
        yield f"failed   and {count(len(ranked) - _FAILURES_SHOWN, 'more kind')}"


def _rate_search(search: RateSearchResult) -> Iterator[str]:
    for trial in search.trials:
        verdict = "met" if trial.kept else f"missed: {trial.why}"
        measured = _measured(trial.measured, search.target.metric)
        yield f"  {trial.stage:<8} {number(trial.rate_tps):>9} TPS   {measured}   {verdict}"
    if search.rate_tps is None:
        yield f"RATE   no rate meets {search.target.text}"
    elif search.limited == "ceiling":
        yield f"RATE   {number(search.rate_tps)} TPS meet {search.target.text}; this is the maximum of the closed loop"
    else:
        yield f"RATE   {number(search.rate_tps)} TPS is the highest rate that meets {search.target.text}"


def search_length_words(length: SearchLength, target: Threshold) -> str:
    """How long a search takes, printed before it starts."""
    return (
        f"the highest rate that meets {target.text}: {number(length.capacity_s)} s in closed loop, then about "
        f"{length.trials_likely} loads of {number(length.trial_s)} s: about {clock(length.likely_s)} in total, at most "
        f"{clock(length.most_s)}"
    )


def rate_trial_line(trial: RateTrial, target: Threshold) -> str:
    """The result of one rate, printed when its load ends: 1,250 TPS offered   met   p99 3.2 ms."""
    measured = _measured(trial.measured, target.metric)
    # What was missed may be another thing than the metric, such as slots that nobody served.
    also = "" if trial.kept or trial.why.startswith(target.metric) else f", {trial.why}"
    outcome = "met   " if trial.kept else "missed"
    return f"{number(trial.rate_tps):>9} TPS offered   {outcome}   {measured}{also}"


def _measured(value: float | None, metric: str) -> str:
    return f"{metric} {'-' if value is None else number(value)}{unit_of(metric)}"


def _stability(stability: Stability) -> Iterator[str]:
    words = (
        f"{number(stability.tps)} TPS over the last {stability.window_s} s, seconds vary by {percent(stability.spread)}"
    )
    if stability.stable_after_s is None:
        yield f"NOT STABLE   {words}"
    else:
        yield f"STABLE   after {stability.stable_after_s} s: {words}"


def _threshold(seen: ThresholdResult) -> str:
    asked = seen.threshold
    value = "nothing" if seen.measured is None else f"{number(seen.measured)}{unit_of(asked.metric)}"
    return f"{'FAIL' if seen.crossed else 'pass'}   {asked.text}   measured {value}"
