"""Slopes: of TPS over time, and of a quantity over the level of a sweep.

A trend test on the seconds of one run finds declines that are not there, because seconds hang together. So a slope is
one number of one trial; what counts is how it differs from that of an interleaved control, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from pgclinic.stats.summary import median


def theil_sen(x: Sequence[float], y: Sequence[float]) -> float:
    """The median slope through all pairs of points (Theil 1950, Sen 1968): up to 29 % wild points do not move it."""
    points = list(zip(x, y, strict=True))
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for index, earlier in enumerate(points)
        for later in points[index + 1 :]
        if later[0] != earlier[0]
    ]
    if not slopes:
        raise ValueError("a slope needs two different values of x")
    return median(slopes)


def log_slope_per_s(tps: Sequence[float]) -> float:
    """Theil-Sen slope of log TPS, per second, over consecutive seconds; -0.01 is 1 % less every second.

    Seconds without a transaction have no logarithm and are passed over.
    """
    seen = [(float(second), math.log(value)) for second, value in enumerate(tps) if value > 0]
    return theil_sen([second for second, _ in seen], [value for _, value in seen])


def monotone(counter: Sequence[float], direction: int) -> bool:
    """Whether a counter went one way only, and got anywhere: the mechanism that a claimed trend needs beside it."""
    steps = [direction * (later - earlier) for earlier, later in pairwise(counter)]
    return bool(steps) and min(steps) >= 0.0 and max(steps) > 0.0
