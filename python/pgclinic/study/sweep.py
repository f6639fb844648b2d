"""TPS over the levels of a sweep -> a word, a size and a knee. Pure.

The verdict comes from ranks inside blocks (Page's L, as an e-process, so that one may look after every block), the size
from each block's slope, and the knee is told but not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.verdict import VerdictWord
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.knee import knee
from pgclinic.stats.pages_trend import log_trend_e_value, page_trend
from pgclinic.stats.slope import elasticity_interval
from pgclinic.stats.summary import mean

ALPHA = 0.05


@dataclass(frozen=True)
class SweepFinding:
    """``e_value`` are the odds for the claimed direction, ``e_value_against`` those for the other one.

    ``page_p_value`` holds only where the number of blocks was fixed beforehand. ``change`` is the ratio of TPS at the
    last level to that at the first, along the blocks' slopes, with its always-valid interval; its bounds are None while
    too few blocks leave it unbounded. ``knee_level`` is the level at which the mean curve bends most.
    """

    word: VerdictWord
    blocks: int
    e_value: float
    e_value_against: float
    page_p_value: float
    change_low: float | None
    change_high: float | None
    knee_level: float | None


def judge_sweep(levels: Sequence[float], blocks: Sequence[Sequence[float]], direction: int) -> SweepFinding:
    """``levels`` rise; each block has one TPS above zero a level; ``direction`` is -1 for "falls as the level grows".

    Beyond nine levels there is no e-process: name fewer.
    """
    if sorted(set(levels)) != list(levels) or levels[0] <= 0:
        raise ValueError("the levels of a sweep rise, and begin above zero")
    towards, against = log_trend_e_value(blocks, direction), log_trend_e_value(blocks, -direction)
    span = math.log(levels[-1] / levels[0])
    low, high = (span * bound for bound in elasticity_interval(levels, blocks))
    bounded = math.isfinite(low) and math.isfinite(high)
    bend = knee(levels, [math.exp(mean([math.log(block[at]) for block in blocks])) for at in range(len(levels))])
    return SweepFinding(
        word=_word(towards, against, (low, high), direction),
        blocks=len(blocks),
        e_value=math.exp(min(towards, 700.0)),
        e_value_against=math.exp(min(against, 700.0)),
        page_p_value=page_trend(blocks, direction).p_value,
        change_low=math.exp(low) if bounded else None,
        change_high=math.exp(high) if bounded else None,
        knee_level=None if bend is None else levels[bend],
    )


def _word(towards: float, against: float, change: tuple[float, float], direction: int) -> VerdictWord:
    """A trend is replicated when its ranks and its size both say so; ranks alone give the direction.

    Flat levels may mislead either way, so each way gets half of the error allowed.
    """
    bar = math.log(2.0 / ALPHA)
    if change[0] > -NULL_EFFECT and change[1] < NULL_EFFECT:
        return VerdictWord.NO_EFFECT
    if towards >= bar:
        beyond = change[1] < -NULL_EFFECT if direction < 0 else change[0] > NULL_EFFECT
        return VerdictWord.REPLICATED if beyond else VerdictWord.REPLICATED_IN_DIRECTION
    return VerdictWord.CONTRADICTED if against >= bar else VerdictWord.INCONCLUSIVE
