"""Slopes: of TPS over time against a control that ran beside it, and of TPS over the level of a sweep.

A trend test on the seconds of one run finds declines that are not there, because seconds hang together. So the slope of
the arm is taken less that of an interleaved control, one number a pair, and the pairs are what the interval counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.summary import mean, median


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


def slopes_beside_control(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> tuple[float, ...]:
    """For each pair of series (arm, control) the slope of log TPS of the arm less that of the control, per second."""
    return tuple(log_slope_per_s(arm) - log_slope_per_s(control) for arm, control in pairs)


def decline_interval(differences: Sequence[float], alpha: float = 0.05) -> tuple[float, float]:
    """The always-valid interval of the slope beyond the control's; infinite below five pairs."""
    return always_valid_interval(differences, alpha)


def least_squares_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the straight line with the least squares."""
    centre_x, centre_y = mean(x), mean(y)
    below = math.fsum((value - centre_x) ** 2 for value in x)
    if below == 0.0:
        raise ValueError("a slope needs two different values of x")
    return math.fsum((a - centre_x) * (b - centre_y) for a, b in zip(x, y, strict=True)) / below


def elasticities(levels: Sequence[float], blocks: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Per block the slope of log TPS over log level: -0.1 is 6.7 % less TPS for twice the level.

    ``levels`` and TPS must be above zero; each block has one TPS a level.
    """
    log_levels = [math.log(level) for level in levels]
    return tuple(least_squares_slope(log_levels, [math.log(tps) for tps in block]) for block in blocks)


def elasticity_interval(
    levels: Sequence[float], blocks: Sequence[Sequence[float]], alpha: float = 0.05
) -> tuple[float, float]:
    """The always-valid interval of the mean elasticity."""
    return always_valid_interval(elasticities(levels, blocks), alpha)


def monotone(counter: Sequence[float], direction: int) -> bool:
    """Whether a counter went one way only, and got anywhere: the mechanism that a claimed trend needs beside it."""
    steps = [direction * (later - earlier) for earlier, later in pairwise(counter)]
    return bool(steps) and min(steps) >= 0.0 and max(steps) > 0.0
