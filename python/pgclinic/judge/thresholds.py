"""``--fail-if``: read, and held against what was measured. Pure.

A load test has values: ``p99>50ms``, ``tps<1000``. A comparison has ratios with intervals: ``b<0.95a``, and a threshold
is crossed only where the whole interval lies beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.compare import Measure, MeasureCompared
from pgclinic.model.load import LoadResult
from pgclinic.model.threshold import Threshold, ThresholdResult, ThresholdSeen, ThresholdState
from pgclinic.model.verdict import Interval
from pgclinic.stats.hdr import decode_histogram

_VALUE = re.compile(
    r"\s*([a-z][a-z0-9_.]*%?)\s*(<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)\s*(us|µs|ms|s|%)?\s*", re.I
)
_UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0}
_TIMES = frozenset({"mean", "average", "stddev", "max", "min", "lag", "connect"})
_COUNTS = frozenset({"tps", "failed", "skipped", "late", "retries", "unserved", "in_flight", "clients_lost"})
_SHARES = frozenset({"failed%", "skipped%", "late%", "retried%", "unserved%"})
METRICS = ("tps", "p50", "p90", "p95", "p99", "p99.9", "p99.99", *sorted(_TIMES | _COUNTS | _SHARES))

_SIDE = r"([ab])(?:\.([a-z][a-z0-9_.]*))?"
_RATIO = re.compile(rf"\s*{_SIDE}\s*(<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)?\s*\*?\s*{_SIDE}\s*", re.IGNORECASE)
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def parse_threshold(text: str, option: str = "--fail-if") -> Threshold:
    """``p99 < 20 ms`` -> a bound in ms. Raises UsageError that names ``option``, and UnknownNameError for a metric."""
    match = _VALUE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{option} {text!r} is not a valid threshold", hint=f'write {option} "p99>50ms" or "failed%>1"'
        )
    metric, comparison, bound, unit = match[1].lower(), match[2], float(match[3]), (match[4] or "").lower()
    if metric in {"failed", "skipped", "late", "unserved"} and unit == "%":
        metric += "%"
    if metric in _SHARES:
        if unit not in ("", "%"):
            raise UsageError(f"{option} {text!r}: {metric} is a percentage, not a time")
    elif metric in _COUNTS:
        if unit:
            raise UsageError(f"{option} {text!r}: {metric} has no unit")
    elif metric in _TIMES or percentile_of(metric) is not None:
        if unit not in _UNITS_MS:
            raise UsageError(f"{option} {text!r} needs a unit", hint=f"write {metric}{comparison}{match[3]}ms")
        bound *= _UNITS_MS[unit]
    else:
        raise UnknownNameError("metric", metric, METRICS, where=f"{option} {text!r}")
    return Threshold(text=text.strip(), metric=metric, comparison=comparison, bound=bound)


def parse_ratio_threshold(text: str) -> Threshold:
    """``b<0.95a`` -> b / a < 0.95 in TPS. Raises UsageError, and UnknownNameError for a measure."""
    match = _RATIO.fullmatch(text)
    if match is None:
        raise _bad_ratio(f"--fail-if {text!r} is not a comparison of a and b")
    left, left_measure, comparison, factor_text, right, right_measure = match.groups()
    left, right = left.lower(), right.lower()
    if left == right:
        raise _bad_ratio(f"--fail-if {text!r} compares {left} with itself")
    named = {name.lower() for name in (left_measure, right_measure) if name is not None}
    if len(named) > 1:
        raise _bad_ratio(f"--fail-if {text!r} compares {' with '.join(sorted(named))}")
    factor = float(factor_text) if factor_text is not None else 1.0
    if factor <= 0:
        raise _bad_ratio(f"--fail-if {text!r}: a factor is above 0")
    measure = _measure(named.pop() if named else "tps", text).value
    if left == "b":
        return Threshold(text=text.strip(), metric=measure, comparison=comparison, bound=factor)
    # a > 1.05 b says that b / a < 1 / 1.05.
    return Threshold(text=text.strip(), metric=measure, comparison=_MIRRORED[comparison], bound=1.0 / factor)


def _bad_ratio(problem: str) -> UsageError:
    return UsageError(problem, hint='write --fail-if "b<0.95a" or --fail-if "b.p99>1.1a"')


def _measure(name: str, text: str) -> Measure:
    known = [measure.value for measure in Measure]
    if name not in known:
        raise UnknownNameError("measure", name, known, where=f"--fail-if {text!r}")
    return Measure(name)


def percentile_of(metric: str) -> float | None:
    """``p99.9`` -> 99.9, also written p999; None for anything else."""
    match = re.fullmatch(r"p([0-9]{1,2}(?:\.[0-9]+)?|100|999|9999)", metric)
    if match is None:
        return None
    value = {"999": 99.9, "9999": 99.99}.get(match[1], 0.0) or float(match[1])
    return value if 0 < value <= 100 else None


def unit_of(metric: str) -> str:
    """The unit of a load test's metric as it stands behind a number; nothing for a count."""
    if metric.endswith("%"):
        return " %"
    return "" if metric in _COUNTS else " ms"


def measured(metric: str, load: LoadResult) -> float | None:
    """The metric's value: times in ms, shares in per cent. None when the load has none, such as p99 of nothing."""
    percentile = percentile_of(metric)
    if percentile is not None or metric in _TIMES:
        return _time_ms(metric, percentile, load)
    begun = load.transactions + load.rolled_back + load.failed + load.skipped
    offered = load.offered if load.offered is not None else begun
    shares = {
        "failed%": (load.failed, begun),
        "skipped%": (load.skipped, begun),
        "late%": (load.late, load.transactions),
        "retried%": (load.retried, begun),
        "unserved%": (load.unserved or 0, offered),
    }
    if metric in shares:
        part, whole = shares[metric]
        return 100 * part / whole if whole else 0.0
    counts = {
        "tps": load.tps,
        "failed": load.failed,
        "skipped": load.skipped,
        "late": load.late,
        "retries": load.retries,
        "unserved": load.unserved or 0,
        "in_flight": len(load.in_flight),
        "clients_lost": load.clients_lost,
    }
    return float(counts[metric])


def _time_ms(metric: str, percentile: float | None, load: LoadResult) -> float | None:
    if metric == "connect":
        return load.connect_s * 1000
    latency = load.lag if metric == "lag" else load.latency
    if latency is None or latency.count == 0:
        return None
    if percentile is not None:
        return decode_histogram(latency.hdr).percentile(percentile) / 1000
    if metric == "stddev":
        return decode_histogram(latency.hdr).stddev() / 1000
    times = {"mean": latency.mean_us, "average": latency.mean_us, "max": latency.max_us, "min": latency.min_us}
    return times.get(metric, float(latency.p99_us)) / 1000


def holds(threshold: Threshold, value: float) -> bool:
    """Whether ``value`` stands to the threshold's bound as it says."""
    match threshold.comparison:
        case "<":
            return value < threshold.bound
        case "<=":
            return value <= threshold.bound
        case ">":
            return value > threshold.bound
        case _:
            return value >= threshold.bound


def judge_values(thresholds: Sequence[Threshold], load: LoadResult) -> tuple[ThresholdResult, ...]:
    """Every threshold with what was measured. One that cannot be measured counts as crossed: nothing was served."""
    results = []
    for threshold in thresholds:
        value = measured(threshold.metric, load)
        crossed = value is None or holds(threshold, value)
        results.append(ThresholdResult(threshold=threshold, measured=value, crossed=crossed))
    return tuple(results)


def judge_ratios(
    thresholds: Sequence[Threshold], measures: Sequence[MeasureCompared], *, valid: bool
) -> tuple[ThresholdSeen, ...]:
    """Every threshold with the interval of its measure; an experiment that is not ``valid`` decides none."""
    intervals = {measure.measure.value: measure.interval for measure in measures}
    return tuple(
        ThresholdSeen(
            threshold=threshold,
            state=_state(threshold, intervals.get(threshold.metric)) if valid else ThresholdState.UNDECIDED,
            interval=intervals.get(threshold.metric),
        )
        for threshold in thresholds
    )


def _state(threshold: Threshold, interval: Interval | None) -> ThresholdState:
    if interval is None or interval.low is None or interval.high is None:
        return ThresholdState.UNDECIDED
    ends = [holds(threshold, end) for end in (interval.low, interval.high)]
    if all(ends):
        return ThresholdState.CROSSED
    return ThresholdState.UNDECIDED if any(ends) else ThresholdState.KEPT
