"""Conditions on a result, such as ``p99>50ms`` or ``tps<1000``. Pure."""

from __future__ import annotations

import re

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.bench import Condition, ThresholdResult
from pgclinic.model.load import LoadResult
from pgclinic.stats.hdr import decode_histogram

_FORM = re.compile(r"\s*([a-z][a-z0-9_.]*%?)\s*(<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)\s*(us|ms|s|%)?\s*", re.I)
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_TIMES = frozenset({"mean", "average", "stddev", "max", "min", "lag", "connect"})
COUNTS = frozenset({"tps", "failed", "skipped", "late", "retries", "unserved", "in_flight", "clients_lost"})
_SHARES = frozenset({"failed%", "skipped%", "late%", "retried%", "unserved%"})
METRICS = ("tps", "p50", "p90", "p95", "p99", "p99.9", "p99.99", *sorted(_TIMES | COUNTS | _SHARES))


def parse_condition(text: str, option: str) -> Condition:
    """``p99 < 20 ms`` -> Condition in ms. Raises UsageError that names ``option``."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"{option} {text!r} is no condition", hint=f'write {option} "p99>50ms" or "failed%>1"')
    metric, comparison, amount, unit = match[1].lower(), match[2], float(match[3]), (match[4] or "").lower()
    if metric in {"failed", "skipped", "late", "unserved"} and unit == "%":
        metric += "%"
    if metric in _SHARES:
        if unit not in ("", "%"):
            raise UsageError(f"{option} {text!r}: {metric} is a percentage, not a time")
    elif metric in COUNTS:
        if unit:
            raise UsageError(f"{option} {text!r}: {metric} has no unit")
    elif metric in _TIMES or percentile_of(metric) is not None:
        if unit not in _UNITS_MS:
            raise UsageError(f"{option} {text!r} needs a unit", hint=f"write {metric}{comparison}{match[3]}ms")
        amount *= _UNITS_MS[unit]
    else:
        raise UnknownNameError("metric", metric, METRICS, where=f"{option} {text!r}")
    return Condition(text=text.strip(), metric=metric, comparison=comparison, amount=amount)


def percentile_of(metric: str) -> float | None:
    """``p99.9`` -> 99.9, also written p999; None for anything else."""
    match = re.fullmatch(r"p([0-9]{1,2}(?:\.[0-9]+)?|100|999|9999)", metric)
    if match is None:
        return None
    value = {"999": 99.9, "9999": 99.99}.get(match[1], 0.0) or float(match[1])
    return value if 0 < value <= 100 else None


def unit_of(metric: str) -> str:
    """The unit of a metric's value as it stands behind a number; nothing for a count."""
    if metric.endswith("%"):
        return " %"
    return "" if metric in COUNTS else " ms"


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


def holds(condition: Condition, value: float) -> bool:
    """Whether ``value`` satisfies the condition."""
    match condition.comparison:
        case "<":
            return value < condition.amount
        case "<=":
            return value <= condition.amount
        case ">":
            return value > condition.amount
        case _:
            return value >= condition.amount


def judge_thresholds(conditions: tuple[Condition, ...], load: LoadResult) -> tuple[ThresholdResult, ...]:
    """Every condition with what was measured. One that cannot be measured counts as crossed: nothing was served."""
    results = []
    for condition in conditions:
        value = measured(condition.metric, load)
        crossed = value is None or holds(condition, value)
        results.append(ThresholdResult(condition=condition, measured=value, crossed=crossed))
    return tuple(results)
