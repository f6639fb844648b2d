"""Did a trial measure a steady state? From its seconds alone. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.doubt import Doubt, DoubtKind, NotSettled, WarmUpUnfinished
from pgclinic.model.study import Condition
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.warm_up import mser_cut, never_settled

#: Fewer seconds than this have too few batches for a flag that means anything.
SECONDS_MIN = 30

#: Two counts of the same thing differ by more than this many standard deviations once in 400 times.
BY_CHANCE = 3.0


def falls_by_design(condition: Condition) -> bool:
    """Under a held horizon TPS fall for as long as it is held, and a step is to change them: no fault of the trial."""
    return condition.horizon_held_by is not None or bool(condition.steps or condition.holds)


def no_steady_state(tps: Sequence[float], condition: Condition) -> Doubt | None:
    """A trial whose level still moved in its second half: its mean is of no state that the server stays in.

    ``tps`` are the measured seconds, without the warm-up. MSER-5 alone flags one steady trial of ten, so the halves
    must also differ by more than counts as a difference.
    """
    if len(tps) < SECONDS_MIN or falls_by_design(condition) or not (never_settled(tps) and _halves_differ(tps)):
        return None
    cut_s = mser_cut(tps) or 0
    return Doubt(
        kind=DoubtKind.NO_STEADY_STATE, share=cut_s / len(tps), facts=NotSettled(cut_s=cut_s, measured_s=len(tps))
    )


def _halves_differ(tps: Sequence[float]) -> bool:
    """By more than counts as a difference, and by more than chance moves two counts of so few."""
    half = len(tps) // 2
    before, after = math.fsum(tps[:half]), math.fsum(tps[-half:])
    least, most = min(before, after), max(before, after)
    return most > math.exp(NULL_EFFECT) * least and most - least > BY_CHANCE * math.sqrt(most + least)


def warm_up_unfinished(settled: bool, waited_s: float) -> Doubt | None:
    """The warm-up ended at its limit and not because the last two bins agreed."""
    if settled:
        return None
    return Doubt(kind=DoubtKind.NO_STEADY_STATE, facts=WarmUpUnfinished(waited_s=waited_s))
