"""The always-valid t interval: a confidence sequence that holds its error under any number of looks.

It is the two-sided t test with a normal mixture over the effect in units of the standard deviation (Lai 1976;
Johari, Pekelis, Koomen and Walsh 2017), turned round into an interval. An ordinary t interval looked at after every
block errs in one case of four; this one may be looked at after every block, and the run stopped whenever it decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.summary import mean, standard_deviation

#: Variance of the mixture in units of the variance of one value: 1 suits effects of about one standard deviation.
MIXTURE = 1.0


def width_factor(n: int, alpha: float = 0.05, mixture: float = MIXTURE) -> float:
    """Half-width over standard deviation after ``n`` values; infinite while they are too few to bound the mean.

    With nu = n - 1, a = 1/(1 + n g) and c = (sqrt(1 + n g)/alpha)^(-2/(nu + 1)) the half-width is
    s/sqrt(n) sqrt(nu (1 - c)/(c - a)). At alpha = 0.05 and g = 1 it is finite from n = 5.
    """
    if n < 2:
        return math.inf
    freedom = n - 1
    growth = 1.0 + n * mixture
    a = 1.0 / growth
    c = (math.sqrt(growth) / alpha) ** (-2.0 / n)
    if c <= a:
        return math.inf
    return math.sqrt(freedom * (1.0 - c) / (c - a) / n)


def half_width(n: int, deviation: float, alpha: float = 0.05, mixture: float = MIXTURE) -> float:
    """Half the width of the interval after ``n`` values with standard deviation ``deviation``, in their unit."""
    factor = width_factor(n, alpha, mixture)
    return math.inf if math.isinf(factor) else factor * deviation


def always_valid_interval(
    values: Sequence[float], alpha: float = 0.05, mixture: float = MIXTURE
) -> tuple[float, float]:
    """The interval of the mean, true at all looks at once with probability 1 - ``alpha``."""
    if len(values) < 2:
        return -math.inf, math.inf
    centre = mean(values)
    half = half_width(len(values), standard_deviation(values), alpha, mixture)
    return centre - half, centre + half
