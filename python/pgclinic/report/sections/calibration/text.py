"""The result of an A/A calibration as text for a terminal."""

from __future__ import annotations

import math

from pgclinic.model.calibration import Calibration, ClaimReach
from pgclinic.report.words.figures import count, percent, seconds, times
from pgclinic.report.words.refusals import refusal_words


def calibration_text(calibration: Calibration) -> str:
    """The minimum detectable effect, whether each claim is larger, and why not to run at all."""
    lines = []
    if calibration.planned is not None and calibration.smallest_effect is not None:
        needed_s = min(calibration.budget_s, calibration.blocks * calibration.planned.pair_s)
        deviation = percent(calibration.planned.deviation)
        blocks = f"{count(calibration.blocks, 'block')}, whose ratios differ by about {deviation}"
        if math.isfinite(calibration.smallest_effect):
            lines.append(
                f"minimum detectable effect: {_least(calibration.smallest_effect)} in {_time(needed_s)}, {blocks}"
            )
        else:
            lines.append(f"no effect is detectable in {_time(needed_s)}: {blocks}")
    lines.extend(f"  {_reach(claim)}" for claim in calibration.claims)
    if calibration.refusal is not None:
        words = refusal_words(calibration.refusal)
        lines += [f"not run: {words.text}", f"  hint: {words.advice}"]
    return "\n".join(lines)


def _least(effect: float) -> str:
    """As the smaller ratio: 7 % is a ratio of 0.93x."""
    return percent(-math.expm1(-effect))


def _time(length_s: float) -> str:
    return f"{length_s / 60:.0f} min" if length_s >= 120 else seconds(round(length_s))


def _reach(claim: ClaimReach) -> str:
    what = f"{claim.claim} ({times(math.exp(claim.effect))})"
    if claim.blocks_likely is None:
        return f"{what}: too small to be detected here in that time"
    return f"{what}: detectable after about {count(claim.blocks_likely, 'block')}"
