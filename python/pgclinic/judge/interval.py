"""The interval of a claim's ratio: from block to block, or of counts where an arm had too few events for that."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.judge.evidence import ClaimEvidence, Counts, Pair
from pgclinic.judge.machine_wave import wave_among, without_wave
from pgclinic.model.verdict import Interval, IntervalMethod
from pgclinic.stats import planned_sequence
from pgclinic.stats.confidence_sequence import half_width
from pgclinic.stats.counterbalanced import BlockMean, block_mean
from pgclinic.stats.dispersed_counts import dispersed_ratio_limits
from pgclinic.stats.student_t import t_half_width

#: The first interim analysis is after this block; before it there are the block ratios alone.
FIRST_LOOK = 4

#: With fewer events of an arm in all blocks together their logarithms are too coarse, and limits of counts take over.
FEW_EVENTS = 30

#: The count whose chance to show no event is one half: the point estimate where none was seen.
EVENTS_IF_NONE = math.log(2)

#: Limits of counts are computed after every block as the others are, so each promises more.
ALPHA_WHEN_LOOKING = 0.01


def interval_of(evidence: ClaimEvidence, blocks_fixed: int | None, horizon: int | None = None) -> Interval | None:
    """The interval of arm / control; None without a usable block.

    ``blocks_fixed`` is the number of blocks that was fixed before the run. With all of them usable the plain t interval
    holds, for the run could not stop on what was seen; with fewer, or None, only an interval for every look does:
    the one for the ``horizon`` blocks that were planned at most, without a horizon the confidence sequence.
    Where a wave goes through the trials the interval contains that of the ratio without it as well.
    """
    pairs = evidence.pairs
    if not pairs:
        return None
    fixed = blocks_fixed == len(pairs) and len(pairs) >= FIRST_LOOK
    if has_few_events(pairs):
        return _of_counts(pairs, 0.05 if fixed else ALPHA_WHEN_LOOKING)
    plain = interval_about(mean_of(pairs), fixed=fixed, horizon=horizon)
    wave = wave_among(pairs)
    if wave is None:
        return plain
    later = [pair.arm_later for pair in pairs]
    return hull(plain, interval_about(block_mean(without_wave(pairs, wave), later), fixed=fixed, horizon=horizon))


def hull(interval: Interval, other: Interval) -> Interval:
    """The interval widened so that it contains the other one; its ratio stays."""
    if interval.low is None or interval.high is None or other.low is None or other.high is None:
        return interval
    return replace(interval, low=min(interval.low, other.low), high=max(interval.high, other.high))


def interval_about(seen: BlockMean, *, fixed: bool, horizon: int | None = None) -> Interval:
    """The interval of a ratio from the mean of its logarithms: Student's where the number of blocks was fixed."""
    half = math.inf
    if seen.blocks >= FIRST_LOOK:
        half = _half_width(seen, horizon, fixed=fixed) * seen.widening
    bounded = math.isfinite(half)
    return Interval(
        ratio=math.exp(seen.centre),
        low=math.exp(seen.centre - half) if bounded else None,
        high=math.exp(seen.centre + half) if bounded else None,
        blocks=seen.blocks,
        method=IntervalMethod.FIXED_BLOCKS if fixed else IntervalMethod.ALWAYS_VALID,
        blocks_planned=None if fixed else horizon,
    )


def _half_width(seen: BlockMean, horizon: int | None, *, fixed: bool) -> float:
    if fixed:
        return t_half_width(seen.blocks, seen.deviation)
    if horizon is None:
        return half_width(seen.blocks, seen.deviation)
    return planned_sequence.half_width(seen.blocks, seen.deviation, horizon)


def mean_of(pairs: Sequence[Pair]) -> BlockMean:
    """The mean log ratio of the blocks, the effect of their order taken out."""
    return block_mean([pair.log_ratio for pair in pairs], [pair.arm_later for pair in pairs])


def has_few_events(pairs: Sequence[Pair]) -> bool:
    """Whether either arm had hardly an event over all blocks together; a sweep has more than two ends.

    A single trial without any, beside others of thousands, is no small count: it stalled, and its log ratio widens
    the interval.
    """
    counts = [pair.counts for pair in pairs if pair.counts is not None and not pair.levels]
    return bool(counts) and min(sum(count.arm for count in counts), sum(count.control for count in counts)) < FEW_EVENTS


def total_counts(pairs: Sequence[Pair]) -> Counts:
    """The commits and the seconds of all blocks together."""
    counts = _counts(pairs)
    return Counts(
        arm=sum(count.arm for count in counts),
        control=sum(count.control for count in counts),
        arm_s=sum(count.arm_s for count in counts),
        control_s=sum(count.control_s for count in counts),
    )


def _counts(pairs: Sequence[Pair]) -> list[Counts]:
    return [pair.counts for pair in pairs if pair.counts is not None]


def _of_counts(pairs: Sequence[Pair], alpha: float) -> Interval:
    counts, total = _counts(pairs), total_counts(pairs)
    low, high = 0.0, math.inf
    if len(pairs) >= 2:
        arm, control = [count.arm for count in counts], [count.control for count in counts]
        low, high = dispersed_ratio_limits(arm, total.arm_s, control, total.control_s, alpha)
    ratio = ((total.arm or EVENTS_IF_NONE) / total.arm_s) / ((total.control or EVENTS_IF_NONE) / total.control_s)
    # Without an event of the control there is no upper limit.
    bounded = math.isfinite(high)
    return Interval(
        ratio=ratio,
        low=low if bounded else None,
        high=high if bounded else None,
        blocks=len(pairs),
        method=IntervalMethod.COUNTS,
    )
