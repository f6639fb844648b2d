"""The interval of a run whose greatest number of blocks was planned: a group-sequential boundary for Student's t.

A confidence sequence promises its coverage for any number of looks and pays for looks that no run ever takes. Where the
most blocks of a run are known before it starts, its looks are known as well: after every block from the fifth to block
H. The boundary is that of Wang and Tsiatis (1987), z_n = c_H (n/H)^(SHAPE - 1/2), used by its significance level
(Jennison and Turnbull 2000, section 11.5): the interval after n blocks is Student's at the two-sided level

    p_n = 2 (1 - Phi(c_H (n/H)^(SHAPE - 1/2)))          for n <= H,
    p_n = p_H / (1 + TAIL log2(n/H)^2)                  for n > H, where a run is extended.

Levels that fall like this have a finite sum over all doublings of n, so the interval holds after the planned blocks
too. ``_CONSTANTS`` are c_H, such that all intervals together contain the mean of normal values with the probability
``COVERAGE``; benches/sequence_constants.py --runs 200000 derives them. They promise a little more than 95 %,
which is what autocorrelated noise takes away. A plan for more than 30 blocks has the boundary
of 30: a longer one is too wide at the first looks, where most runs end.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from statistics import NormalDist

from pgclinic.stats.student_t import quantile

#: How the boundary falls with n: 0.5 is Pocock's, which looks for large effects early, 0 that of O'Brien and Fleming.
SHAPE = 0.35
#: How soon the levels fall after the planned blocks.
TAIL = 8.0
#: Fewer blocks have no interval.
FIRST = 5
#: Of all intervals of a run together, for normal values.
COVERAGE = 0.96

#: c_H by the most blocks that were planned.
_CONSTANTS = {
    5: 2.210,
    6: 2.316,
    7: 2.377,
    8: 2.418,
    10: 2.466,
    12: 2.495,
    15: 2.521,
    20: 2.552,
    30: 2.582,
}
_NORMAL = NormalDist()


def width_factor(n: int, horizon: int) -> float:
    """Half-width over standard deviation after ``n`` blocks of a run planned for at most ``horizon``.

    Infinite below ``FIRST`` blocks.
    """
    return math.inf if n < FIRST else _factor(n, horizon)


@cache
def _factor(n: int, horizon: int) -> float:
    return quantile(1.0 - level(n, horizon) / 2.0, n - 1) / math.sqrt(n)


def half_width(n: int, deviation: float, horizon: int) -> float:
    """Half the width of the interval after ``n`` values with standard deviation ``deviation``, in their unit."""
    factor = width_factor(n, horizon)
    return math.inf if math.isinf(factor) else factor * deviation


def level(n: int, horizon: int) -> float:
    """The two-sided level of Student's interval after ``n`` blocks; ``horizon`` blocks were planned at most."""
    planned = min(max(horizon, FIRST), max(_CONSTANTS))
    boundary = boundary_constant(planned) * (min(n, planned) / planned) ** (SHAPE - 0.5)
    at_planned = 2.0 * _NORMAL.cdf(-boundary)
    return at_planned / (1.0 + TAIL * math.log2(max(n, planned) / planned) ** 2)


def boundary_constant(horizon: int) -> float:
    """c_H, between those of the table by the logarithm of H."""
    planned = sorted(_CONSTANTS)
    at = bisect_left(planned, horizon)
    if planned[at] == horizon:
        return _CONSTANTS[horizon]
    before, after = planned[at - 1], planned[at]
    share = math.log(horizon / before) / math.log(after / before)
    return _CONSTANTS[before] + share * (_CONSTANTS[after] - _CONSTANTS[before])
