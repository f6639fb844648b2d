"""The mean of block log ratios with the effect of the order taken out of it.

In a block one arm runs before the other. If the later trial of a block is faster or slower whatever its arm, the log
ratio of a block is d + p where the arm ran later and d - p where it ran earlier. The mean over each of the two orders,
averaged with equal weights, estimates d without p; half of their difference estimates p. With as many blocks of either
order that is the plain mean. The spread is that of all blocks and still contains p, so an interval errs to the safe
side where there is such an effect, and loses no degree of freedom where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.stats.student_t import quantile
from pgclinic.stats.summary import mean, standard_deviation


@dataclass(frozen=True)
class BlockMean:
    """``widening`` is the standard error over that of a plain mean of as many values: 1 where orders are balanced."""

    centre: float
    deviation: float
    blocks: int
    widening: float = 1.0


@dataclass(frozen=True)
class OrderEffect:
    """``log_ratio`` is of the later to the earlier trial of a block, whatever the arm, with its 95 % interval.

    ``low`` and ``high`` are None where fewer than two blocks of one of the orders leave it unbounded.
    """

    log_ratio: float
    low: float | None
    high: float | None


def block_mean(values: Sequence[float], arm_later: Sequence[bool] = ()) -> BlockMean:
    """``arm_later`` says of each value whether its block ran the arm after the control; without it, or where all blocks
    have one order, it is the plain mean."""
    deviation = standard_deviation(values) if len(values) > 1 else 0.0
    later, earlier = by_order(values, arm_later)
    if not later or not earlier:
        return BlockMean(mean(values), deviation, len(values))
    widening = math.sqrt(len(values) / 4.0 * (1.0 / len(later) + 1.0 / len(earlier)))
    return BlockMean((mean(later) + mean(earlier)) / 2.0, deviation, len(values), widening)


def by_order(values: Sequence[float], arm_later: Sequence[bool]) -> tuple[list[float], list[float]]:
    """The values of blocks in which the arm ran later, and of those in which it ran earlier; none where unknown."""
    if len(arm_later) != len(values):
        return [], []
    pairs = list(zip(values, arm_later, strict=True))
    return [value for value, later in pairs if later], [value for value, later in pairs if not later]


def order_effect(values: Sequence[float], arm_later: Sequence[bool]) -> OrderEffect | None:
    """How much faster the later trial of a block is; None where all blocks have one order.

    The interval is Student's, with the spread inside each order, so a difference between the arms does not enter.
    """
    later, earlier = by_order(values, arm_later)
    if not later or not earlier:
        return None
    effect = (mean(later) - mean(earlier)) / 2.0
    if min(len(later), len(earlier)) < 2:
        return OrderEffect(effect, None, None)
    residuals = [value - mean(same) for same in (later, earlier) for value in same]
    freedom = len(values) - 2
    pooled = math.sqrt(math.fsum(value**2 for value in residuals) / freedom)
    error = pooled * math.sqrt(1.0 / len(later) + 1.0 / len(earlier)) / 2.0
    half = quantile(0.975, freedom) * error
    return OrderEffect(effect, effect - half, effect + half)
