#!/usr/bin/env python3
"""The constants of stats/planned_sequence.py, by Monte Carlo: the boundary that keeps the coverage over all its looks.

A run of normal values has one number: the least constant at which no look excludes the mean. Its quantile at the
coverage is c_H, whatever the mean and the standard deviation are.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pgclinic.stats.planned_sequence import COVERAGE, FIRST, SHAPE, TAIL
from pgclinic.stats.student_t import upper_tail

HORIZONS = (5, 6, 7, 8, 10, 12, 15, 20, 30)
#: Looks after the planned blocks, as a multiple of these; what lies beyond has levels below a hundredth of the last.
TIMES_AFTER = 8
_STEPS = 4000
#: z scores as numbers of one tail: log of the upper tail of the normal distribution.
_SCORES = np.linspace(0.0, 8.0, 1601)
_LOG_TAILS = np.array([math.log(NormalDist().cdf(-score)) for score in _SCORES])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20261123)
    options = parser.parse_args()
    found = constants(HORIZONS, options.runs, np.random.default_rng(options.seed))
    for horizon, constant in zip(HORIZONS, found, strict=True):
        print(f"    {horizon}: {constant:.3f},", flush=True)


def constants(
    horizons: Sequence[int], runs: int, rng: np.random.Generator, times_after: int = TIMES_AFTER
) -> tuple[float, ...]:
    """c_H of each horizon, from ``runs`` runs that are looked at until ``times_after`` times the horizon."""
    needed = {horizon: np.zeros(runs) for horizon in horizons}
    sums, squares = np.zeros(runs), np.zeros(runs)
    for n in range(1, times_after * max(horizons) + 1):
        values = rng.normal(size=runs)
        sums += values
        squares += values**2
        if n < FIRST:
            continue
        centres = sums / n
        deviations = np.sqrt((squares - n * centres**2) / (n - 1))
        tails = log_tails(np.abs(centres) * math.sqrt(n) / deviations, n - 1)
        for horizon, least in needed.items():
            if n <= times_after * horizon:
                np.maximum(least, least_constant(tails, n, horizon), out=least)
    return tuple(float(np.quantile(least, COVERAGE)) for least in needed.values())


def least_constant(tails: NDArray[np.float64], n: int, horizon: int) -> NDArray[np.float64]:
    """The constant at which the look after ``n`` blocks just excludes the mean; ``tails`` are logs of one-sided p."""
    after = math.log1p(TAIL * math.log2(max(n, horizon) / horizon) ** 2)
    scores = np.interp(-(tails + after), -_LOG_TAILS, _SCORES)
    return np.asarray(scores / (min(n, horizon) / horizon) ** (SHAPE - 0.5))


def log_tails(statistics: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Log of the upper tail of Student's t, by a table over the logarithm of 1 + t."""
    if freedom > _STEPS:
        raise ValueError(f"no table for {freedom} degrees of freedom")
    places = np.linspace(0.0, math.log1p(60.0 if freedom < 12 else 14.0), 240)
    table = [math.log(max(upper_tail(math.expm1(place), freedom), 1e-300)) for place in places]
    return np.asarray(np.interp(np.log1p(statistics), places, table))


if __name__ == "__main__":
    main()
