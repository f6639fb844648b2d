"""Whether the later trial of a block runs faster or slower than the earlier one, whichever arm it is of. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import Pair
from pgclinic.judge.interval import FIRST_LOOK
from pgclinic.model.doubt import Doubt, DoubtKind, OneOrder, OrderMatters
from pgclinic.model.study import Question
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.counterbalanced import order_effect


def order_doubt(claim: Question, pairs: Sequence[Pair]) -> Doubt | None:
    """An effect of the order, or a carry-over, larger than counts as a difference; or orders that cannot show one."""
    if len(pairs) < FIRST_LOOK or claim.control == claim.arm or claim.reference_value is not None:
        return None
    later = [pair.arm_later for pair in pairs]
    if all(later) or not any(later):
        first, second = (claim.control, claim.arm) if all(later) else (claim.arm, claim.control)
        facts = OneOrder(first=first, second=second, blocks=len(pairs))
        return Doubt(kind=DoubtKind.ORDER_EFFECT, facts=facts)
    effect = order_effect([pair.log_ratio for pair in pairs], later)
    if effect is None or effect.low is None or effect.high is None or abs(effect.log_ratio) <= NULL_EFFECT:
        return None
    if effect.low <= 0.0 <= effect.high:
        return None
    change = math.expm1(effect.log_ratio)
    return Doubt(kind=DoubtKind.ORDER_EFFECT, share=abs(change), facts=OrderMatters(change=change))
