"""Ratios on the log scale, where twice as fast and half as fast are equally far from no difference."""

from __future__ import annotations

import math


def log_ratio(arm: float, control: float) -> float:
    """Natural logarithm of ``arm / control``; both must be above zero and of the same unit."""
    if arm <= 0 or control <= 0:
        raise ValueError(f"a log ratio needs two positive values, not {arm} and {control}")
    return math.log(arm) - math.log(control)


def ratio_range(low: float, high: float) -> tuple[float, float]:
    """A range of log ratios as a range of ratios."""
    return math.exp(low), math.exp(high)
