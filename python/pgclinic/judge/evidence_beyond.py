"""How much blocks say against "there is no difference that matters", whenever they are looked at. Pure."""

from __future__ import annotations

import math

from pgclinic.model.verdict import ClaimVerdict
from pgclinic.stats.counterbalanced import BlockMean, block_mean
from pgclinic.stats.e_values import log_e_value_about

#: Variance of the bet on the mean, in variances of a block: a proof has five blocks or little more, and looks for
#: effects of several times their spread. For those it is worth most; the evidence is valid with any.
MIXTURE = 25.0


def log_evidence_beyond(seen: BlockMean, null_zone: tuple[float, float]) -> float:
    """Natural log of the e-value against a log ratio within ``null_zone``, the ratios of the equivalence margin."""
    low, high = null_zone
    return log_e_value_about(seen, ((math.log(low), math.log(high)),), MIXTURE)


def log_evidence_of(claim: ClaimVerdict) -> float:
    """The same from the block ratios of a claim; 0 where it has none."""
    ratios = [block for block in claim.blocks if block.ratio > 0.0]
    if not ratios:
        return 0.0
    seen = block_mean([math.log(block.ratio) for block in ratios], [block.arm_later for block in ratios])
    return log_evidence_beyond(seen, claim.null_zone)
