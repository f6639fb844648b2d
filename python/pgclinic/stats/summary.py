"""Simple summaries of a few numbers. Mean and median are the standard library's; its mean is of an exact sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean as mean
from statistics import median

__all__ = ["mean", "median", "standard_deviation"]


def standard_deviation(values: Sequence[float]) -> float:
    """Sample standard deviation, with n - 1 below the line.

    ``statistics.stdev`` calculates with fractions, which takes thirty times as long, and simulations call this often.
    """
    if len(values) < 2:
        raise ValueError("a standard deviation needs two values or more")
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))
