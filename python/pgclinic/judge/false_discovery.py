"""Several claims: which of them are discoveries at a false discovery rate of 5 % (e-BH). Pure, from the verdict alone.

Each claim has its own interval, and that errs in one of 20. A reader who is shown ten claims and looks for those that
held would be shown a false one too often. So all claims are also tested together, each by its own hypothesis: that the
ratio lies outside the claimed region, and of a sweep also that the levels do not follow the claimed order. What is
called *replicated in direction* claims less, so it is tested apart: that the ratio does not lie on the claimed side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.model.reason import Conclusion, FalseDiscovery, Reason
from pgclinic.model.verdict import BlockRatio, ClaimVerdict, Interval, IntervalMethod
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.counterbalanced import BlockMean, block_mean
from pgclinic.stats.e_values import Range, false_discoveries_held, log_e_value_about, log_e_value_of
from pgclinic.stats.page_trend_test import log_trend_e_value, page_trend
from pgclinic.stats.student_t import p_value_above, p_value_of

ALPHA = 0.05

#: Words of a claim that held; of one with another word there is nothing to uphold.
REGION_HOLDS = (VerdictWord.REPLICATED, VerdictWord.CONFIRMED)
HOLDS = (*REGION_HOLDS, VerdictWord.REPLICATED_IN_DIRECTION)


@dataclass(frozen=True)
class Standing:
    """``e_value`` is the evidence for what the claim's word says, ``upheld`` whether e-BH upholds it among all claims.

    For *replicated in direction* that is the direction, for every other word the claimed region.
    """

    claim: str
    e_value: float
    upheld: bool


def standings(claims: Sequence[ClaimVerdict], alpha: float = ALPHA) -> tuple[Standing, ...]:
    """How each claim stands among the others; of those upheld, a share of at most ``alpha`` is expected to be false.

    An invalid claim has no evidence, but counts among the claims: it was tested.
    """
    by_region = [_log_evidence(claim, _region(claim)) for claim in claims]
    by_direction = [_log_evidence(claim, _side(claim)) for claim in claims]
    upheld = (false_discoveries_held(by_region, alpha), false_discoveries_held(by_direction, alpha))
    found = []
    for at, claim in enumerate(claims):
        only_side = claim.word is VerdictWord.REPLICATED_IN_DIRECTION
        value = (by_direction if only_side else by_region)[at]
        found.append(Standing(claim=claim.claim, e_value=math.exp(min(value, 700.0)), upheld=upheld[only_side][at]))
    return tuple(found)


def upheld_among(claims: Sequence[ClaimVerdict], words: Sequence[VerdictWord]) -> int:
    """How many claims with one of these words e-BH upholds among all ``claims``, which may be of several studies."""
    return sum(
        standing.upheld and claim.word in words for claim, standing in zip(claims, standings(claims), strict=True)
    )


def weighed_together(claims: Sequence[ClaimVerdict]) -> tuple[ClaimVerdict, ...]:
    """The same verdicts, each with whether it stands among the others; a claim alone needs no such thing."""
    if len(claims) < 2:
        return tuple(claims)
    return tuple(
        replace(
            claim,
            upheld_together=standing.upheld,
            reasons=_with_standing(claim, standing, len(claims)),
        )
        for claim, standing in zip(claims, standings(claims), strict=True)
    )


def _with_standing(claim: ClaimVerdict, standing: Standing, claims: int) -> tuple[Reason, ...]:
    """The claim's reasons, before their conclusion also how it stands; of a claim that does not hold they are all."""
    if claim.word not in HOLDS:
        return claim.reasons
    seen = FalseDiscovery(
        claims=claims,
        alpha=ALPHA,
        e_value=standing.e_value,
        upheld=standing.upheld,
        of_direction=claim.word is VerdictWord.REPLICATED_IN_DIRECTION,
    )
    steps = [reason for reason in claim.reasons if not isinstance(reason, Conclusion)]
    return (*steps, seen, *(reason for reason in claim.reasons if isinstance(reason, Conclusion)))


def _region(claim: ClaimVerdict) -> Range:
    """The claimed region as log ratios, infinite where it has no end."""
    low, high = claim.region
    return math.log(low) if low > 0.0 else -math.inf, math.log(high) if high is not None else math.inf


def _side(claim: ClaimVerdict) -> Range:
    """The claimed side of the equivalence margin; of a claim without a direction its region."""
    low, high = (math.log(edge) for edge in claim.null_zone)
    match claim.direction:
        case -1:
            return -math.inf, low
        case 1:
            return high, math.inf
    return _region(claim)


def _log_evidence(claim: ClaimVerdict, claimed: Range) -> float:
    """The log evidence against "the log ratio lies outside ``claimed``"."""
    if claim.word is VerdictWord.INVALID or claim.interval is None:
        return 0.0
    match claim.interval.method:
        case IntervalMethod.COUNTS:
            return _of_limits(claim.interval, claimed)
        case IntervalMethod.FIXED_BLOCKS:
            return min(log_e_value_of(_p_value(claim, claimed)), _of_order(claim, fixed=True))
        case IntervalMethod.ALWAYS_VALID:
            return min(log_e_value_about(_mean(claim), _outside(claimed)), _of_order(claim, fixed=False))


def _outside(claimed: Range) -> tuple[Range, ...]:
    low, high = claimed
    outside: list[Range] = []
    if math.isfinite(low):
        outside.append((-math.inf, low))
    if math.isfinite(high):
        outside.append((high, math.inf))
    return tuple(outside)


def _p_value(claim: ClaimVerdict, claimed: Range) -> float:
    """Of one analysis after a number of blocks that was fixed beforehand: the worse of both edges."""
    seen, (low, high) = _mean(claim), claimed
    if seen.blocks < 2:
        return 1.0
    error = seen.deviation / math.sqrt(seen.blocks) * seen.widening
    distances = [distance for distance in (seen.centre - low, high - seen.centre) if math.isfinite(distance)]
    return max(p_value_of(distance, error, seen.blocks - 1) for distance in distances)


def _of_order(claim: ClaimVerdict, *, fixed: bool) -> float:
    """The log e-value of the claimed trend of a sweep, and of each step's direction where every step is claimed.

    Any other claim has no order to show. The least of several e-values is one against "one of these does not hold".
    """
    levels = [block.values for block in claim.blocks if block.values]
    if not levels or claim.direction == 0:
        return math.inf
    steps = [_of_step(levels, at, claim.direction, fixed=fixed) for at in range(len(claim.steps))]
    if fixed:
        return min(log_e_value_of(page_trend(levels, claim.direction).p_value), *steps, math.inf)
    return min(log_trend_e_value(levels, claim.direction), *steps, math.inf)


def _of_step(levels: Sequence[Sequence[float]], at: int, direction: int, *, fixed: bool) -> float:
    """Against "the step does not go the claimed way"."""
    values = [direction * math.log(block[at + 1] / block[at]) for block in levels]
    if fixed:
        return log_e_value_of(p_value_above(values, 0.0))
    return log_e_value_about(block_mean(values), ((-math.inf, 0.0),))


def _of_limits(interval: Interval, claimed: Range) -> float:
    """Limits of counts say only that the chance is below ALPHA: a bet that pays 1/ALPHA or nothing.

    Its expectation is at most 1, whatever the counts.
    """
    if interval.low is None or interval.high is None:
        return -math.inf
    low = math.log(interval.low) if interval.low > 0.0 else -math.inf
    holds = (claimed[0] < low or claimed[0] == -math.inf) and math.log(interval.high) < claimed[1]
    # A grain more than the bar of a claim alone, which is the same number rounded another way.
    return math.log(1.0 / ALPHA) + 1e-9 if holds else -math.inf


def _mean(claim: ClaimVerdict) -> BlockMean:
    blocks: Sequence[BlockRatio] = claim.blocks
    return block_mean([math.log(block.ratio) for block in blocks], [block.arm_later for block in blocks])
