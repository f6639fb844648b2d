"""Rates of events that come too seldom for a normal approximation: exact limits for counts and for ratios of rates.

Garwood's limits (1936) for one Poisson count, those of Clopper and Pearson (1934) for the ratio of two: given the sum,
one of two counts is binomial. Both keep their promise for any count, also for none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from pgclinic.stats.student_t import incomplete_beta

_NEGLIGIBLE = 1e-17


def at_most(events: int, mean: float) -> float:
    """P(X <= ``events``) of a Poisson count, for a ``mean`` above ``events``."""
    return _tail(events, mean, step=-1)


def at_least(events: int, mean: float) -> float:
    """P(X >= ``events``) of a Poisson count, for a ``mean`` below ``events``."""
    return _tail(events, mean, step=1)


def poisson_limits(events: int, alpha: float = 0.05) -> tuple[float, float]:
    """The exact 1 - ``alpha`` limits of the mean behind one Poisson count; divide by the exposure for a rate."""
    if events < 0:
        raise ValueError(f"a count is not below zero: {events}")
    half = alpha / 2.0
    low = 0.0 if events == 0 else _root(lambda mean: at_least(events, mean) - half, 0.0, float(events))
    high = events + 10.0
    while at_most(events, high) > half:
        high *= 2.0
    return low, _root(lambda mean: half - at_most(events, mean), float(events), high)


@lru_cache(maxsize=4096)
def rate_ratio_limits(
    events_a: int, exposure_a: float, events_b: int, exposure_b: float, alpha: float = 0.05
) -> tuple[float, float]:
    """The exact 1 - ``alpha`` limits of rate a over rate b; without an event of b the upper one is infinite."""
    if events_a < 0 or events_b < 0:
        raise ValueError("a count is not below zero")
    if exposure_a <= 0 or exposure_b <= 0:
        raise ValueError("an exposure must be above zero")
    half, scale = alpha / 2.0, exposure_b / exposure_a
    low, high = 0.0, math.inf
    if events_a > 0:
        share = _root(lambda p: incomplete_beta(events_a, events_b + 1, p) - half, 0.0, 1.0)
        low = scale * share / (1.0 - share)
    if events_b > 0:
        # From the other side: near 1 a share has fewer digits than its complement.
        share = _root(lambda p: incomplete_beta(events_b, events_a + 1, p) - half, 0.0, 1.0)
        high = scale * (1.0 - share) / share
    return low, high


def _tail(events: int, mean: float, step: int) -> float:
    """The sum of probabilities from ``events`` on, away from the mean, where each is smaller than the one before."""
    if mean == 0.0:
        return 1.0 if events == 0 or step < 0 else 0.0
    term = math.exp(events * math.log(mean) - mean - math.lgamma(events + 1))
    total, count = term, events
    while term > _NEGLIGIBLE * total and count + step >= 0:
        term *= mean / (count + 1) if step > 0 else count / mean
        count += step
        total += term
    return total


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where ``rising`` crosses zero, by bisection to the last digit that a float holds."""
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
