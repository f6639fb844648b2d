"""A comparison in Bencher Metric Format: benchmark, measure, value with its bounds."""

from __future__ import annotations

import msgspec

from pgclinic.model.compare import Comparison, Measure
from pgclinic.model.verdict import Interval

#: Bencher's own measures have these names and units: operations a second, and nanoseconds.
_THROUGHPUT, _LATENCY = "throughput", "latency"


def bencher_json(comparison: Comparison) -> str:
    """Two benchmarks, a and b, with throughput and mean latency (ns), and a third, "b / a", with every ratio.

    Bounds are 95 % limits of ratios: of the arms alone there are none, for only within blocks is noise shared.
    """
    seen = {measure.measure: measure for measure in comparison.measures}
    metrics: dict[str, dict[str, dict[str, float]]] = {}
    for side in ("a", "b"):
        about = (comparison.a if side == "a" else comparison.b).about
        measures: dict[str, dict[str, float]] = {}
        if Measure.TPS in seen:
            measures[_THROUGHPUT] = {"value": getattr(seen[Measure.TPS], side)}
        if Measure.MEAN in seen:
            measures[_LATENCY] = {"value": getattr(seen[Measure.MEAN], side) * 1000.0}
        if measures:
            metrics[f"{side}: {about}"] = measures
    ratios = {
        f"{measure.measure.value}-ratio": _metric(measure.interval)
        for measure in comparison.measures
        if measure.interval is not None
    }
    if ratios:
        metrics["b / a"] = ratios
    return msgspec.json.format(msgspec.json.encode(metrics), indent=2).decode() + "\n"


def _metric(interval: Interval) -> dict[str, float]:
    metric = {"value": interval.ratio}
    if interval.low is not None and interval.high is not None:
        metric |= {"lower_value": interval.low, "upper_value": interval.high}
    return metric
