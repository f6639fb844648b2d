"""How much neighbouring seconds repeat each other, and what a run of them is worth in independent ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.summary import mean


def autocorrelation(values: Sequence[float], lag: int) -> float:
    """The correlation of the series with itself ``lag`` values later; 0 for a series that does not vary."""
    if not 0 <= lag < len(values):
        raise ValueError(f"a lag of {lag} does not fit into {len(values)} values")
    centre = mean(values)
    off = [value - centre for value in values]
    whole = math.fsum(value * value for value in off)
    if whole == 0.0:
        return 0.0
    return math.fsum(a * b for a, b in zip(off, off[lag:], strict=False)) / whole


def correlation_time(values: Sequence[float]) -> float:
    """How many values count as one independent one: 1 + 2 x the sum of autocorrelations, at least 1.

    Summed in pairs of lags from (0, 1) on, until a pair is not positive (Geyer 1992): later ones would add noise alone.
    """
    total = -1.0
    for lag in range(0, len(values) - 1, 2):
        pair = autocorrelation(values, lag) + autocorrelation(values, lag + 1)
        if pair <= 0.0:
            break
        total += 2.0 * pair
    return max(1.0, total)
