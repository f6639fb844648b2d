"""Arms whose short trials had not settled: what one of some seconds cannot show, all of them together do. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import TPS, unfit
from pgclinic.load.by_second import transactions_by_second
from pgclinic.model.doubt import Doubt, DoubtKind, HalvesDiffer
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean
from pgclinic.trial.steadiness import SECONDS_MIN, falls_by_design

#: Fewer trials than this have no spread to compare their halves with.
TRIALS_MIN = 3
#: Fewer seconds than this have no halves.
SHORTEST_S = 4


def unsteady_arm(claim: Question, trials: Sequence[TrialRecord]) -> Doubt | None:
    """The first arm of the claim whose trials, each too short for a doubt of its own, rise or fall alike.

    The log ratio of the second to the first half of each trial is one value; their t interval must lie beyond the
    equivalence margin. A neighbour that comes and goes moves the halves of single trials, but not of all the same way.
    """
    if claim.measure != TPS:
        return None
    for name in dict.fromkeys(claim.levels or (claim.control, claim.arm)):
        changes = [
            change
            for trial in trials
            if trial.spec.arm == name and unfit(trial, claim) is None and (change := _change(trial)) is not None
        ]
        if len(changes) < TRIALS_MIN:
            continue
        low, high = t_interval(changes)
        if high >= -NULL_EFFECT and low <= NULL_EFFECT:
            continue
        change = math.expm1(mean(changes))
        facts = HalvesDiffer(arm=name, change=change, trials=len(changes))
        return Doubt(kind=DoubtKind.NO_STEADY_STATE, share=abs(change), facts=facts)
    return None


def _change(trial: TrialRecord) -> float | None:
    """The log ratio of the second to the first half of a short trial; None for one that is long or falls by design."""
    if trial.load is None or falls_by_design(trial.spec.condition):
        return None
    seconds = transactions_by_second(trial.load)
    half = len(seconds) // 2
    if not SHORTEST_S <= len(seconds) < SECONDS_MIN or not sum(seconds[:half]) or not sum(seconds[-half:]):
        return None
    return log_ratio(sum(seconds[-half:]), sum(seconds[:half]))
