"""Several claims in one study: which of them stand together. Pure, from the verdict alone.

Each claim has its own interval, and that errs in one of 20. A reader who is shown ten claims and looks for those that
held would be shown a false one too often; so the study's headline counts only those that the e-BH procedure upholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.verdict import ClaimVerdict, VerdictWord
from pgclinic.stats.e_values import blocks_until_worth, false_discoveries_held, log_e_value
from pgclinic.stats.equivalence import equivalence_log_e_value
from pgclinic.stats.log_ratio import log_range

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


def _log_evidence(claim: ClaimVerdict) -> float:
    if claim.word is VerdictWord.INVALID:
        return 0.0
    values = [math.log(block.ratio) for block in claim.blocks]
    low, high = log_range(claim.null_zone)
    published = math.log(claim.published_ratio)
    if published < low:
        return log_e_value(values, ((low, math.inf),))
    if published > high:
        return log_e_value(values, ((-math.inf, high),))
    return equivalence_log_e_value(values, (low, high))
