"""A wave of the machine's speed that goes through a run, found in the series of its trials and taken out of it.

Counterbalanced orders turn a disturbance into spread only if it does not keep step with them. One that rises and falls
once in three or eight trials can meet the same arm in the same phase until the run ends. Block ratios do not show it,
the series of trials does: y_i = m + d [trial i is of b] + A cos(2 pi f t_i) + B sin(2 pi f t_i) is fitted by least
squares for frequencies f on a grid (the periodogram of Lomb 1976 and Scargle 1982 with the difference between the arms
fitted as well). The best frequency is a wave if it explains most of what the arms leave unexplained.

benches/verdict_simulations.py shows how often a wave gives a wrong word without and with this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.summary import mean

#: A wave explains at least this share of the variance that is left beside the arms. Noise alone of a shared machine
#: does so in 8 % of the runs of four blocks and in 3 % of those of five.
EXPLAINED_MIN = 0.7
#: Half of the swing, as a log ratio: a lower wave cannot carry a ratio far over the equivalence margin.
HEIGHT_MIN = NULL_EFFECT / 2.0
#: Frequencies between two of the run's own, 1 / its length.
OVERSAMPLING = 4
#: The shortest period, in trials. Shorter ones are not distinguishable from longer ones.
SHORTEST = 1.9
#: A frequency at which sine and cosine are the same at all times, but for this, has no fit.
_SINGULAR = 1e-6


@dataclass(frozen=True)
class Wave:
    """``height`` is half of its swing as a log ratio; ``explained`` the share of the variance beside the arms."""

    period_s: float
    height: float
    explained: float
    cosine: float
    sine: float

    def at(self, at_s: float) -> float:
        """Its log level at a time of the clock it was found with."""
        turn = 2.0 * math.pi * at_s / self.period_s
        return self.cosine * math.cos(turn) + self.sine * math.sin(turn)


def find_wave(at_s: Sequence[float], logs: Sequence[float], is_arm: Sequence[bool], trials: int) -> Wave | None:
    """The wave in log levels measured at ``at_s``, several a trial; None where none is high and clear enough.

    Periods from two trials up to the length of the run are tried.
    """
    span_s = max(at_s) - min(at_s) if at_s else 0.0
    if span_s <= 0.0 or len(set(is_arm)) < 2:
        return None
    arms = _centred([float(one) for one in is_arm])
    left = _beside(logs, arms)
    total = _product(left, left)
    if total <= 0.0:
        return None
    waves = (
        _fitted(at_s, left, arms, total, frequency / (OVERSAMPLING * span_s))
        for frequency in range(OVERSAMPLING, math.floor(OVERSAMPLING * trials / SHORTEST) + 1)
    )
    best = max((wave for wave in waves if wave is not None), key=lambda wave: wave.explained, default=None)
    if best is None or best.explained < EXPLAINED_MIN or best.height < HEIGHT_MIN:
        return None
    return best


def _fitted(
    at_s: Sequence[float], left: Sequence[float], arms: Sequence[float], total: float, frequency: float
) -> Wave | None:
    turns = [2.0 * math.pi * frequency * moment for moment in at_s]
    cosines = _beside([math.cos(turn) for turn in turns], arms)
    sines = _beside([math.sin(turn) for turn in turns], arms)
    cc, ss, cs = _product(cosines, cosines), _product(sines, sines), _product(cosines, sines)
    determinant = cc * ss - cs * cs
    if determinant <= _SINGULAR * cc * ss:
        return None
    cy, sy = _product(cosines, left), _product(sines, left)
    cosine, sine = (ss * cy - cs * sy) / determinant, (cc * sy - cs * cy) / determinant
    return Wave(
        period_s=1.0 / frequency,
        height=math.hypot(cosine, sine),
        explained=(cosine * cy + sine * sy) / total,
        cosine=cosine,
        sine=sine,
    )


def _beside(values: Sequence[float], arms: Sequence[float]) -> list[float]:
    """What a mean of each arm leaves of the values; ``arms`` is centred."""
    centred = _centred(values)
    slope = _product(centred, arms) / _product(arms, arms)
    return [value - slope * arm for value, arm in zip(centred, arms, strict=True)]


def _centred(values: Sequence[float]) -> list[float]:
    centre = mean(values)
    return [value - centre for value in values]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
