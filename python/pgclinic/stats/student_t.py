"""Student's t distribution and the plain t interval, valid when the number of values was fixed beforehand.

The distribution function goes through the regularised incomplete beta function, whose continued fraction is
DLMF 8.17.22, evaluated from the front by the method of Lentz as modified by Thompson and Barnett (1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from pgclinic.stats.summary import mean, standard_deviation

_TINY = 1e-300
_PRECISION = 1e-16
_TERMS_MAX = 10_000


def _fraction_term(index: int, a: float, b: float, x: float) -> float:
    """The ``index``-th coefficient of DLMF 8.17.22, from 1."""
    m, odd = divmod(index, 2)
    if odd:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1/(1 + d2/(1 + ...))), which converges fast where x < (a + 1)/(a + b + 2)."""
    numerator, denominator, value = 1.0, 0.0, 1.0
    for index in range(1, _TERMS_MAX):
        coefficient = _fraction_term(index, a, b, x)
        denominator = 1.0 / ((1.0 + coefficient * denominator) or _TINY)
        numerator = (1.0 + coefficient / numerator) or _TINY
        step = numerator * denominator
        value *= step
        if abs(step - 1.0) < _PRECISION:
            break
    return 1.0 / value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and x from 0 to 1."""
    if not 0.0 <= x <= 1.0:
        raise ValueError(f"x must be from 0 to 1, not {x}")
    if x in (0.0, 1.0):
        return x
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def upper_tail(t: float, freedom: float) -> float:
    """P(T > t) for t >= 0 and ``freedom`` degrees of freedom."""
    return incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0


@lru_cache(maxsize=1024)
def quantile(probability: float, freedom: float) -> float:
    """The t with P(T <= t) = ``probability``, by bisection to the last digit that a float holds."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"a probability lies between 0 and 1, not at {probability}")
    if freedom <= 0:
        raise ValueError("degrees of freedom must be above zero")
    if probability < 0.5:
        return -quantile(1.0 - probability, freedom)
    tail = 1.0 - probability
    low, high = 0.0, 1.0
    while upper_tail(high, freedom) > tail:
        low, high = high, high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if upper_tail(middle, freedom) > tail:
            low = middle
        else:
            high = middle


def p_value_above(values: Sequence[float], edge: float) -> float:
    """One-sided p value of "the mean is no more than ``edge``"; 1 for fewer than two values. Look at it once."""
    if len(values) < 2:
        return 1.0
    error = standard_deviation(values) / math.sqrt(len(values))
    return p_value_of(mean(values) - edge, error, len(values) - 1)


def p_value_of(distance: float, error: float, freedom: float) -> float:
    """P(T >= ``distance`` / ``error``): one-sided, for an estimate that lies ``distance`` above the edge."""
    if error == 0.0:
        return 0.0 if distance > 0.0 else 1.0
    tail = upper_tail(abs(distance) / error, freedom)
    return tail if distance > 0.0 else 1.0 - tail


def t_half_width(n: int, deviation: float, alpha: float = 0.05) -> float:
    """Half the width of the plain 1 - ``alpha`` t interval for the mean of ``n`` values."""
    if n < 2:
        return math.inf
    return quantile(1.0 - alpha / 2.0, n - 1) * deviation / math.sqrt(n)


def t_interval(values: Sequence[float], alpha: float = 0.05) -> tuple[float, float]:
    """The plain 1 - ``alpha`` t interval of the mean. Look at it once, after a number of values fixed beforehand."""
    if len(values) < 2:
        return -math.inf, math.inf
    centre = mean(values)
    half = t_half_width(len(values), standard_deviation(values), alpha)
    return centre - half, centre + half
