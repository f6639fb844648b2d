"""The steps from trials to a word, as typed records; ``report/words/reasons.py`` words them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.doubts.run import STARVED_SHARE, starved_trials
from pgclinic.judge.evidence import EVENTS_WHEN_NONE, FEW, ClaimEvidence, Pair
from pgclinic.judge.interval import FEW_EVENTS, total_counts
from pgclinic.judge.regions import Ground, direction_of
from pgclinic.judge.sweep import SweepSeen
from pgclinic.judge.tail_window import tail_length
from pgclinic.model.reason import (
    BlocksUsed,
    ClaimedRegion,
    CommitsTogether,
    Compared,
    CounterCompared,
    CountsInterval,
    FewTransactions,
    FixedBlocksInterval,
    Knee,
    NoBlockRan,
    Reason,
    Refusing,
    RegionSource,
    SequenceInterval,
    StarvedTrials,
    SweepStep,
    Transported,
    Trend,
    Unbounded,
)
from pgclinic.model.study import Question
from pgclinic.model.transport import Transport
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Interval, IntervalMethod, MechanismSeen
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.stats.summary import standard_deviation


def refusing(reasons: Sequence[Reason]) -> Reason | None:
    """The step that says why there is no answer, or else the first counter that did not change; None without either."""
    refused = next((reason for reason in reasons if isinstance(reason, Refusing)), None)
    if refused is not None:
        return refused
    return next((reason for reason in reasons if isinstance(reason, CounterCompared) and not reason.moved), None)


def block_reasons(claim: Question, evidence: ClaimEvidence) -> tuple[Reason, ...]:
    """Which blocks were used, and why the others were not."""
    used = len(evidence.pairs)
    total = used + len(evidence.left_out)
    if total == 0:
        return (NoBlockRan(),)
    arms = tuple(dict.fromkeys(claim.levels or (claim.control, claim.arm)))
    return (BlocksUsed(used=used, total=total, arms=arms), *evidence.left_out)


def ratio_reasons(claim: Question, evidence: ClaimEvidence, interval: Interval) -> tuple[Reason, ...]:
    """What was compared and what each block gave."""
    pairs = evidence.pairs
    compared = Compared(
        measure=claim.measure,
        control=claim.control,
        arm=claim.arm,
        ratios=tuple(math.exp(pair.log_ratio) for pair in pairs),
        ratio=interval.ratio,
        tail_s=tail_length(claim.tail_s) if claim.tail_s is not None else None,
        levels=len(claim.levels),
        reference=claim.reference_value,
        spread=standard_deviation([pair.log_ratio for pair in pairs]) if len(pairs) > 1 else None,
        together=_together(pairs) if interval.method is IntervalMethod.COUNTS else None,
    )
    few = [pair.few_transactions for pair in pairs if pair.few_transactions is not None]
    if not few:
        return (compared,)
    return compared, FewTransactions(blocks=len(few), fewest=min(few), few=FEW, when_none=EVENTS_WHEN_NONE)


def _together(pairs: Sequence[Pair]) -> CommitsTogether:
    total = total_counts(pairs)
    return CommitsTogether(arm=total.arm, arm_s=total.arm_s, control=total.control, control_s=total.control_s)


def interval_reason(interval: Interval) -> Reason:
    """The interval, by the method that gave it."""
    if interval.low is None or interval.high is None:
        return Unbounded(blocks=interval.blocks, bounded_from=first_bounded())
    match interval.method:
        case IntervalMethod.COUNTS:
            return CountsInterval(low=interval.low, high=interval.high, few=FEW_EVENTS)
        case IntervalMethod.FIXED_BLOCKS:
            return FixedBlocksInterval(low=interval.low, high=interval.high, blocks=interval.blocks)
        case IntervalMethod.ALWAYS_VALID:
            return SequenceInterval(low=interval.low, high=interval.high, blocks=interval.blocks)


def sweep_reasons(claim: Question, evidence: ClaimEvidence, sweep: SweepSeen) -> tuple[Reason, ...]:
    """What the order of all levels says beside the size, and where the curve bends."""
    trend = Trend(
        rising=direction_of(claim) > 0,
        levels=len(claim.levels),
        blocks=len(evidence.pairs),
        statistic=sweep.trend.statistic,
        expected=sweep.trend.expected,
        p_value=sweep.trend.p_value if sweep.fixed else None,
        e_value=None if sweep.fixed else sweep.e_value,
    )
    steps = (
        SweepStep(
            before=step.before,
            after=step.after,
            ratio=step.ratio,
            low=step.low,
            high=step.high,
            shown=step.shown,
            opposed=step.opposed,
        )
        for step in sweep.steps
    )
    knee = (Knee(level=sweep.knee_level),) if sweep.knee_level is not None else ()
    return (trend, *steps, *knee)


def region_reason(claim: Question, ground: Ground) -> Reason:
    """What the source prints, or what is expected and why, and the ratios for which the claim holds."""
    low, high = ground.region
    return ClaimedRegion(
        low=low,
        high=high if math.isfinite(high) else None,
        margin=ground.null_zone,
        source=_region_source(claim, ground),
        measure=claim.measure,
        region_reason=claim.region_reason,
        published_ratio=claim.published_ratio,
        text=claim.published.text if claim.published is not None else None,
        expected_because=claim.expected.reason if claim.expected is not None else None,
        reference=claim.reference_value,
    )


def _region_source(claim: Question, ground: Ground) -> RegionSource:
    if claim.region is not None:
        return RegionSource.STUDY
    if claim.published_ratio is None:
        return RegionSource.BEYOND_MARGIN if ground.direction else RegionSource.MARGIN
    if ground.direction == 0:
        return RegionSource.NO_DIFFERENCE
    bounded = claim.published is not None and claim.published.bound is not None
    return RegionSource.BOUND if bounded else RegionSource.EFFECT


def counter_reason(seen: MechanismSeen, claim: Question) -> Reason:
    return CounterCompared(
        counter=seen.counter,
        about=seen.about,
        arm=claim.arm,
        arm_value=seen.arm,
        control=claim.control,
        control_value=seen.control,
        ratio_min=seen.ratio_min,
        moved=seen.moved,
        one_way=seen.one_way,
    )


def starved_reason(trials: Sequence[TrialRecord]) -> Reason:
    return StarvedTrials(starved=len(starved_trials(trials)), used=len(trials), share=STARVED_SHARE)


def transport_reason(seen: Transport) -> Transported:
    """What the statements of a twin say of its original."""
    return Transported(
        ratio=seen.ratio,
        low=seen.low,
        high=seen.high,
        measured_share=seen.measured_share,
        outside=seen.outside,
        outside_share=seen.outside_share,
        by_server=seen.by_server,
        rough=seen.rough,
        rough_share=seen.rough_share,
    )
