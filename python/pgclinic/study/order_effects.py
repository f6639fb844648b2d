"""Whether the later trial of a block runs faster or slower than the earlier one, whichever arm it is of. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.study import Claim
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.counterbalanced import order_effect
from pgclinic.study.blocks import Pair
from pgclinic.study.figures import count, percent
from pgclinic.study.interval import FIRST_LOOK
from pgclinic.trial.finding import Finding

ADVICE = "look for what one trial leaves behind for the next: a warm cache, heat, a disk that fills up"


def order_doubt(claim: Claim, pairs: Sequence[Pair]) -> Finding | None:
    """An effect of the order, or a carry-over, larger than counts as a difference; or orders that cannot show one."""
    if len(pairs) < FIRST_LOOK or claim.control == claim.arm or claim.reference_value is not None:
        return None
    later = [pair.arm_later for pair in pairs]
    if all(later) or not any(later):
        first, second = (claim.control, claim.arm) if all(later) else (claim.arm, claim.control)
        return Finding(
            text=f"{first} ran before {second} in each of the {count(len(pairs), 'block')} that count, so an effect of "
            "the order would look like one of the arms",
            advice="run more blocks: their order is counterbalanced",
        )
    effect = order_effect([pair.log_ratio for pair in pairs], later)
    if effect is None or effect.low is None or effect.high is None or abs(effect.log_ratio) <= NULL_EFFECT:
        return None
    if effect.low <= 0.0 <= effect.high:
        return None
    word = "faster" if effect.log_ratio > 0 else "slower"
    change = abs(math.expm1(effect.log_ratio))
    return Finding(
        text=f"the later trial of a block was {percent(change)} {word} than the earlier one, whichever arm it was of; "
        "the ratio is free of that, its interval is wider for it",
        advice=ADVICE,
        share=change,
    )
