"""The interval of a claim's ratio: from block to block, or exact where events are too few for that."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.verdict import Interval, IntervalMethod
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.poisson import rate_ratio_limits
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean
from pgclinic.study.blocks import Counts, Evidence, Pair

#: The interval is looked at from this block on; before, nothing but the block ratios is told.
FIRST_LOOK = 4

#: Below so many events in all blocks together their logarithms are too coarse, and the exact limits take over.
FEW_EVENTS = 30

#: The count whose chance to show no event is one half: what "none seen" is most plausibly worth.
EVENTS_IF_NONE = math.log(2)

#: Exact limits are looked at after every block like the others, so they promise more at each look.
ALPHA_WHEN_LOOKING = 0.01


def interval_of(evidence: Evidence, blocks_fixed: int | None) -> Interval | None:
    """The interval of arm / control; None without a usable block.

    ``blocks_fixed`` is the number of blocks that was settled before the run. With all of them usable the plain t
    interval holds, for nobody could stop on what he saw; with fewer, or None, only the always-valid one does.
    """
    pairs = evidence.pairs
    if not pairs:
        return None
    fixed = blocks_fixed == len(pairs) and len(pairs) >= FIRST_LOOK
    if has_few_events(pairs):
        return _of_counts(pairs, 0.05 if fixed else ALPHA_WHEN_LOOKING)
    values = [pair.log_ratio for pair in pairs]
    if fixed:
        low, high = t_interval(values)
    else:
        low, high = always_valid_interval(values) if len(values) >= FIRST_LOOK else (-math.inf, math.inf)
    bounded = math.isfinite(low) and math.isfinite(high)
    return Interval(
        ratio=math.exp(mean(values)),
        low=math.exp(low) if bounded else None,
        high=math.exp(high) if bounded else None,
        blocks=len(values),
        method=IntervalMethod.FIXED_BLOCKS if fixed else IntervalMethod.ALWAYS_VALID,
    )


def has_few_events(pairs: Sequence[Pair]) -> bool:
    """Whether either arm had hardly an event over all blocks, or none at all in some; a sweep has other ends."""
    counts = [pair.counts for pair in pairs if pair.counts is not None and not pair.levels]
    if not counts:
        return False
    fewest = min(sum(one.arm for one in counts), sum(one.control for one in counts))
    return fewest < FEW_EVENTS or any(one.fewest == 0 for one in counts)


def total_counts(pairs: Sequence[Pair]) -> Counts:
    """The commits and the seconds of all blocks together."""
    counts = [pair.counts for pair in pairs if pair.counts is not None]
    return Counts(
        arm=sum(one.arm for one in counts),
        control=sum(one.control for one in counts),
        arm_s=sum(one.arm_s for one in counts),
        control_s=sum(one.control_s for one in counts),
    )


def _of_counts(pairs: Sequence[Pair], alpha: float) -> Interval:
    total = total_counts(pairs)
    low, high = rate_ratio_limits(total.arm, total.arm_s, total.control, total.control_s, alpha)
    ratio = ((total.arm or EVENTS_IF_NONE) / total.arm_s) / ((total.control or EVENTS_IF_NONE) / total.control_s)
    # Without an event of the control there is no upper limit.
    bounded = math.isfinite(high) and len(pairs) >= 2
    return Interval(
        ratio=ratio,
        low=low if bounded else None,
        high=high if bounded else None,
        blocks=len(pairs),
        method=IntervalMethod.COUNTS,
    )
