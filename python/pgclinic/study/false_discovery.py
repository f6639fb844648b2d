"""Several claims in one study: which of them stand together. Pure, from the verdict alone.

Each claim has its own interval, and that errs in one of 20. A reader who is shown ten claims and looks for those that
held would be shown a false one too often; so the study's headline counts only those that the e-BH procedure upholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.model.verdict import ClaimVerdict, Interval, IntervalMethod, VerdictWord
from pgclinic.stats.e_values import blocks_until_worth, false_discoveries_held, log_e_value, log_e_value_of
from pgclinic.stats.equivalence import equivalence_log_e_value
from pgclinic.stats.log_ratio import log_range
from pgclinic.stats.student_t import p_value_above
from pgclinic.study.figures import count, percent, ratio

ALPHA = 0.05


@dataclass(frozen=True)
class Standing:
    """``e_value`` is the odds against "what is claimed is not so"; ``upheld`` whether it holds among all the claims.

    For a claimed effect that is "it is none, or the other way round"; for a claim of no difference "there is one".
    """

    claim: str
    e_value: float
    upheld: bool


def standings(claims: Sequence[ClaimVerdict], alpha: float = ALPHA) -> tuple[Standing, ...]:
    """How each claim stands among the others; of those upheld, a share of at most ``alpha`` is expected to be false.

    An invalid claim has no evidence, but counts among the claims: it was asked.
    """
    logs = [_log_evidence(claim) for claim in claims]
    upheld = false_discoveries_held(logs, alpha)
    return tuple(
        Standing(claim=claim.claim, e_value=math.exp(min(value, 700.0)), upheld=held)
        for claim, value, held in zip(claims, logs, upheld, strict=True)
    )


def blocks_for_claims(claims: int, alpha: float = ALPHA) -> int:
    """The fewest blocks after which a single one of so many claims can be upheld."""
    return blocks_until_worth(claims / alpha)


def weighed_together(claims: Sequence[ClaimVerdict]) -> tuple[ClaimVerdict, ...]:
    """The same verdicts, each with whether it stands among the others; a claim alone needs no such thing."""
    if len(claims) < 2:
        return tuple(claims)
    return tuple(
        replace(
            claim,
            upheld_together=standing.upheld,
            how=(*claim.how[:-1], *_step(claim, standing, len(claims)), *claim.how[-1:]),
        )
        for claim, standing in zip(claims, standings(claims), strict=True)
    )


#: Of a claim with another word there is nothing to uphold.
_HOLDS = (VerdictWord.REPLICATED, VerdictWord.CONFIRMED, VerdictWord.REPLICATED_IN_DIRECTION)


def _step(claim: ClaimVerdict, standing: Standing, claims: int) -> tuple[str, ...]:
    """The sentence for the reasoning, before its conclusion."""
    if claim.word not in _HOLDS:
        return ()
    odds = f"{ratio(standing.e_value)} to 1" if standing.e_value < 1e6 else "more than a million to 1"
    if standing.upheld:
        return (
            f"It stands among the {count(claims, 'claim')} of this study taken together, by evidence of {odds}: of the "
            f"claims upheld so (e-BH) at most {percent(ALPHA)} are expected to be false.",
        )
    return (
        f"By itself it stands, but among the {count(claims, 'claim')} of this study the evidence of {odds} is too weak "
        "to be upheld (e-BH): of so many claims, one might look like this by chance. More blocks would tell.",
    )


def _log_evidence(claim: ClaimVerdict) -> float:
    if claim.word is VerdictWord.INVALID or claim.interval is None:
        return 0.0
    match claim.interval.method:
        case IntervalMethod.COUNTS:
            return _of_limits(claim, claim.interval)
        case IntervalMethod.FIXED_BLOCKS:
            return log_e_value_of(_p_value(claim))
        case IntervalMethod.ALWAYS_VALID:
            return _of_blocks(claim)


def _of_blocks(claim: ClaimVerdict) -> float:
    low, high = log_range(claim.null_zone)
    values = _log_ratios(claim)
    match _direction(claim):
        case -1:
            return log_e_value(values, ((low, math.inf),))
        case 1:
            return log_e_value(values, ((-math.inf, high),))
        case _:
            return equivalence_log_e_value(values, (low, high))


def _p_value(claim: ClaimVerdict) -> float:
    """Of one look after a number of blocks that was fixed beforehand; for no difference the worse of both sides."""
    low, high = log_range(claim.null_zone)
    values = _log_ratios(claim)
    mirrored = [-value for value in values]
    match _direction(claim):
        case -1:
            return p_value_above(mirrored, -low)
        case 1:
            return p_value_above(values, high)
        case _:
            return max(p_value_above(values, low), p_value_above(mirrored, -high))


def _of_limits(claim: ClaimVerdict, interval: Interval) -> float:
    """Exact limits say only that the chance is below ALPHA: a bet that pays 1/ALPHA or nothing.

    Its expectation is at most 1, whatever the counts.
    """
    if interval.low is None or interval.high is None:
        return -math.inf
    low, high = claim.null_zone
    beyond = {-1: interval.high < low, 1: interval.low > high, 0: low < interval.low and interval.high < high}
    # A grain more than the bar of a claim alone, which is the same number rounded another way.
    return math.log(1.0 / ALPHA) + 1e-9 if beyond[_direction(claim)] else -math.inf


def _direction(claim: ClaimVerdict) -> int:
    return claim.direction


def _log_ratios(claim: ClaimVerdict) -> list[float]:
    return [math.log(block.ratio) for block in claim.blocks]
