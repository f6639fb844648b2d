"""Measurements over the levels of a sweep -> whether they have the claimed trend, and where they bend. Pure.

The trend is tested by ranks inside blocks (Page's L): as a p value where the number of blocks was fixed beforehand,
else as an e-process, which holds after every block. The interval gives the size, and the knee is shown but not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.judge.evidence import Pair
from pgclinic.judge.interval import interval_about
from pgclinic.judge.regions import Bounds, Ground, contradicts, inside, on_claimed_side, outside, word_for
from pgclinic.model.verdict import StepSeen
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.counterbalanced import block_mean
from pgclinic.stats.knee import knee
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.page_trend_test import PageTrend, log_trend_e_value, page_trend
from pgclinic.stats.summary import mean

ALPHA = 0.05


@dataclass(frozen=True)
class SweepSeen:
    """``follows`` says that the order of the levels is the claimed one, ``opposes`` that it is the other one.

    ``trend`` is Page's test for the claimed order; its p value holds only where the number of blocks was fixed
    beforehand. ``e_value`` are the odds for that order at any look, ``e_value_against`` those for the other.
    ``knee_level`` is the level at which the mean curve bends most. ``steps`` are set where every step is claimed.
    """

    follows: bool
    opposes: bool
    trend: PageTrend
    e_value: float
    e_value_against: float
    fixed: bool
    knee_level: float | None
    steps: tuple[StepSeen, ...] = ()


def judge_sweep(
    levels: Sequence[float], blocks: Sequence[Sequence[float]], direction: int, *, fixed: bool = False
) -> SweepSeen:
    """``levels`` rise; each block has one value above zero a level; ``direction`` is -1 for "falls as they grow".

    ``fixed`` says that the number of blocks was settled before the run. Flat levels may mislead either way, so each way
    gets half of the error allowed. Beyond nine levels there is no e-process: name fewer.
    """
    if sorted(set(levels)) != list(levels) or levels[0] <= 0:
        raise ValueError("the levels of a sweep rise, and begin above zero")
    towards, against = log_trend_e_value(blocks, direction), log_trend_e_value(blocks, -direction)
    trend = page_trend(blocks, direction)
    bar = math.log(2.0 / ALPHA)
    bend = knee(levels, [math.exp(mean([math.log(block[at]) for block in blocks])) for at in range(len(levels))])
    return SweepSeen(
        follows=trend.p_value <= ALPHA / 2.0 if fixed else towards >= bar,
        opposes=page_trend(blocks, -direction).p_value <= ALPHA / 2.0 if fixed else against >= bar,
        trend=trend,
        e_value=math.exp(min(towards, 700.0)),
        e_value_against=math.exp(min(against, 700.0)),
        fixed=fixed,
        knee_level=None if bend is None else levels[bend],
    )


def judge_steps(
    pairs: Sequence[Pair], direction: int, *, fixed: bool, horizon: int | None = None
) -> tuple[StepSeen, ...]:
    """Each step from one level to the next, by the log ratios of the blocks.

    All must be shown for the claim to hold, so each may err with 5 % (an intersection-union test, Berger 1982).
    """
    levels = pairs[0].levels
    return tuple(_step(pairs, at, levels, direction, horizon, fixed=fixed) for at in range(len(levels) - 1))


def _step(
    pairs: Sequence[Pair], at: int, levels: Sequence[float], direction: int, horizon: int | None, *, fixed: bool
) -> StepSeen:
    values = [log_ratio(pair.values[at + 1], pair.values[at]) for pair in pairs]
    later = [pair.trials[at + 1].spec.position > pair.trials[at].spec.position for pair in pairs]
    interval = interval_about(block_mean(values, later), fixed=fixed, horizon=horizon)
    near, far = (interval.low, interval.high) if direction > 0 else (interval.high, interval.low)
    return StepSeen(
        before=levels[at],
        after=levels[at + 1],
        ratio=interval.ratio,
        low=interval.low,
        high=interval.high,
        shown=near is not None and direction * math.log(near) > 0.0,
        opposed=far is not None and direction * math.log(far) < -NULL_EFFECT,
    )


def sweep_word(interval: Bounds, ground: Ground, sweep: SweepSeen) -> VerdictWord:
    """A sweep is replicated when its trend and its size both say so; the trend alone gives the direction.

    Where every step is claimed, each must be shown by itself: a trend does not show that no level is out of order. One
    step that goes the other way contradicts the claim.

    A size that excludes the claimed region, with no such trend, refutes the claim.
    Where the two say opposite things, neither is believed; a claim of no difference is one of size alone.
    ``interval`` is of the ratio of the last level to the first, infinite where it has no ends yet.
    """
    if ground.direction == 0:
        return word_for(interval, ground)
    if sweep.follows and inside(interval, ground.region) and all(step.shown for step in sweep.steps):
        return VerdictWord.REPLICATED
    if inside(interval, ground.null_zone):
        return VerdictWord.NO_EFFECT
    opposed = any(step.opposed for step in sweep.steps)
    if opposed or (sweep.opposes and not on_claimed_side(interval, ground)):
        return VerdictWord.CONTRADICTED
    if sweep.follows:
        return VerdictWord.INCONCLUSIVE if contradicts(interval, ground) else VerdictWord.REPLICATED_IN_DIRECTION
    return _without_trend(interval, ground)


def _without_trend(interval: Bounds, ground: Ground) -> VerdictWord:
    """Of levels whose order is open: a size on the claimed side, however small, leaves the trend to be shown."""
    refuted = outside(interval, ground.region) and not on_claimed_side(interval, ground)
    return VerdictWord.NOT_REPLICATED if refuted else VerdictWord.INCONCLUSIVE
