"""``--fail-if "b<0.95a"``: bounds on the ratio of b to a, and whether a whole interval lies beyond them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.compare import Measure, MeasureCompared, Threshold, ThresholdSeen, ThresholdState
from pgclinic.model.verdict import Interval

_SIDE = r"([ab])(?:\.([a-z][a-z0-9_.]*))?"
_FORM = re.compile(rf"\s*{_SIDE}\s*(<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)?\s*\*?\s*{_SIDE}\s*", re.IGNORECASE)
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
HINT = 'write --fail-if "b<0.95a" or --fail-if "b.p99>1.1a"'


def parse_threshold(text: str) -> Threshold:
    """``b<0.95a`` -> b / a < 0.95 in TPS. Raises UsageError, and UnknownNameError for a measure."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"--fail-if {text!r} is no comparison of a and b", hint=HINT)
    left, left_measure, comparison, factor_text, right, right_measure = match.groups()
    left, right = left.lower(), right.lower()
    if left == right:
        raise UsageError(f"--fail-if {text!r} compares {left} with itself", hint=HINT)
    named = {name.lower() for name in (left_measure, right_measure) if name is not None}
    if len(named) > 1:
        raise UsageError(f"--fail-if {text!r} compares {' with '.join(sorted(named))}", hint=HINT)
    factor = float(factor_text) if factor_text is not None else 1.0
    if factor <= 0:
        raise UsageError(f"--fail-if {text!r}: a factor is above 0", hint=HINT)
    measure = _measure(named.pop() if named else "tps", text)
    if left == "b":
        return Threshold(text=text.strip(), measure=measure, comparison=comparison, ratio=factor)
    # a > 1.05 b says that b / a < 1 / 1.05.
    return Threshold(text=text.strip(), measure=measure, comparison=_MIRRORED[comparison], ratio=1.0 / factor)


def judge_thresholds(
    thresholds: Sequence[Threshold], measures: Sequence[MeasureCompared], *, valid: bool
) -> tuple[ThresholdSeen, ...]:
    """Every threshold with what was seen; an experiment that is not ``valid`` decides none."""
    intervals = {one.measure: one.interval for one in measures}
    return tuple(
        ThresholdSeen(
            threshold=threshold,
            state=_state(threshold, intervals.get(threshold.measure)) if valid else ThresholdState.UNDECIDED,
            interval=intervals.get(threshold.measure),
        )
        for threshold in thresholds
    )


def _measure(name: str, text: str) -> Measure:
    known = [measure.value for measure in Measure]
    if name not in known:
        raise UnknownNameError("measure", name, known, where=f"--fail-if {text!r}")
    return Measure(name)


def _state(threshold: Threshold, interval: Interval | None) -> ThresholdState:
    if interval is None or interval.low is None or interval.high is None:
        return ThresholdState.UNDECIDED
    ends = [_holds(threshold, end) for end in (interval.low, interval.high)]
    if all(ends):
        return ThresholdState.CROSSED
    return ThresholdState.UNDECIDED if any(ends) else ThresholdState.KEPT


def _holds(threshold: Threshold, ratio: float) -> bool:
    match threshold.comparison:
        case "<":
            return ratio < threshold.ratio
        case "<=":
            return ratio <= threshold.ratio
        case ">":
            return ratio > threshold.ratio
        case _:
            return ratio >= threshold.ratio
