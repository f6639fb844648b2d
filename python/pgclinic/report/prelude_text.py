"""What an A/A prelude says of this machine, in lines for a terminal."""

from __future__ import annotations

import math

from pgclinic.model.prelude import ClaimReach, Prelude
from pgclinic.study.figures import count, percent, seconds, times


def prelude_text(prelude: Prelude) -> str:
    """The smallest effect that can be told, claim by claim whether it is large enough, and why not to run at all."""
    lines = []
    if prelude.planned is not None and prelude.smallest_effect is not None:
        needed_s = min(prelude.budget_s, prelude.blocks * prelude.planned.pair_s)
        lines.append(
            f"this machine can tell {_least(prelude.smallest_effect)} in {_time(needed_s)}: "
            f"{count(prelude.blocks, 'block')}, whose ratios differ by about {percent(prelude.planned.deviation)}"
        )
    lines.extend(f"  {_reach(claim)}" for claim in prelude.claims)
    if prelude.refusal is not None:
        lines += [f"not run: {prelude.refusal.text}", f"  hint: {prelude.refusal.advice}"]
    return "\n".join(lines)


def _least(effect: float) -> str:
    """As the smaller ratio: 7 % is a ratio of 0.93x."""
    return percent(-math.expm1(-effect)) if math.isfinite(effect) else "no effect at all"


def _time(length_s: float) -> str:
    return f"{length_s / 60:.0f} min" if length_s >= 120 else seconds(round(length_s))


def _reach(claim: ClaimReach) -> str:
    what = f"{claim.claim} ({times(math.exp(claim.effect))})"
    if claim.blocks_likely is None:
        return f"{what}: too small to be told here in that time"
    return f"{what}: can be told after about {count(claim.blocks_likely, 'block')}"
