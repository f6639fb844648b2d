"""Trials that stopped, and trials that are missing: both make a ratio rest on what was left. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.judge.evidence import TPS, last_try, unfit
from pgclinic.judge.tail_window import Tail, tail_of
from pgclinic.model.doubt import ArmLost, Doubt, DoubtKind, TrialsLost, TrialsStalled
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.poisson import at_most
from pgclinic.stats.summary import median

#: A trial with this share of its arm's median rate, or less, did not run slowly but stood still.
STALLED_SHARE = 0.05
#: Unless chance gives so few events of that rate more often than this.
BY_CHANCE = 0.001
#: Arms that lost trials in shares of their blocks this far apart are compared by their survivors.
LOST_SHARE = 0.10


def stalled_trials(claim: Question, trials: Sequence[TrialRecord]) -> Doubt | None:
    """Trials with no transaction, or hardly one, in an arm whose other trials have many."""
    if claim.measure != TPS:
        return None
    stalled: list[tuple[TrialRecord, Tail]] = []
    used = 0
    for name in claim.levels or (claim.control, claim.arm):
        tails = [
            (trial, tail)
            for trial in trials
            if trial.spec.arm == name
            and unfit(trial, claim) is None
            and trial.load is not None
            and (tail := tail_of(trial.load, claim.tail_s)) is not None
        ]
        used += len(tails)
        stalled.extend(_stalled(tails))
    if not stalled:
        return None
    worst, tail = stalled[0]
    return Doubt(
        kind=DoubtKind.STALLED_TRIAL,
        share=len(stalled) / used,
        facts=TrialsStalled(
            stalled=len(stalled),
            used=used,
            arm=worst.spec.arm,
            trial=worst.spec.number,
            transactions=tail.transactions,
            length_s=tail.length_s,
        ),
    )


def _stalled(tails: Sequence[tuple[TrialRecord, Tail]]) -> list[tuple[TrialRecord, Tail]]:
    if len(tails) < 2:
        return []
    usual = median([tail.transactions / tail.length_s for _, tail in tails])
    return [(trial, tail) for trial, tail in tails if is_stalled(tail.transactions, usual * tail.length_s)]


def is_stalled(events: int, usual: float) -> bool:
    """Whether a trial with so many events stood still, where ``usual`` are the rule in its time."""
    return events <= STALLED_SHARE * usual and at_most(events, usual) < BY_CHANCE


def lost_in_one_arm(claim: Question, trials: Sequence[TrialRecord]) -> Doubt | None:
    """More trials of one arm than of the other cannot be used: what made them fail may be what is compared."""
    if claim.control == claim.arm:
        return None
    blocks = sorted({trial.spec.block for trial in trials})
    arms: list[ArmLost] = []
    for name in (claim.control, claim.arm):
        tries = [last_try(name, [trial for trial in trials if trial.spec.block == block]) for block in blocks]
        run = [trial for trial in tries if trial is not None]
        lost = [trial for trial in run if unfit(trial, claim) is not None]
        if not run or len(lost) == len(run):
            # An arm without a single trial makes the claim invalid, or leaves it without blocks.
            return None
        arms.append(ArmLost(arm=name, lost=len(lost), trials=len(run)))
    control, arm = (one.lost / one.trials for one in arms)
    if abs(arm - control) < LOST_SHARE:
        return None
    return Doubt(kind=DoubtKind.TRIALS_LOST, share=abs(arm - control), facts=TrialsLost(arms=tuple(arms)))
