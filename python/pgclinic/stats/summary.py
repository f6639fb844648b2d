"""Simple summaries of a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; the sum is exact, so it does not depend on the order."""
    if not values:
        raise ValueError("the mean of no values is not defined")
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """Sample standard deviation, with n - 1 below the line."""
    if len(values) < 2:
        raise ValueError("a standard deviation needs two values or more")
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones."""
    if not values:
        raise ValueError("the median of no values is not defined")
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2
