"""Trials that stopped, and trials that are missing: both make a ratio rest on what was left. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.study import Claim
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.poisson import at_most
from pgclinic.stats.summary import median
from pgclinic.study.blocks import TPS, last_try, unfit
from pgclinic.study.figures import count
from pgclinic.study.tail_window import Tail, tail_of
from pgclinic.trial.finding import Finding

#: A trial with this share of its arm's median rate, or less, did not run slowly but stood still.
STALLED_SHARE = 0.05
#: Unless chance gives so few events of that rate more often than this.
BY_CHANCE = 0.001
#: Arms that lost trials in shares of their blocks this far apart are compared by their survivors.
LOST_SHARE = 0.10


def stalled_trials(claim: Claim, trials: Sequence[TrialRecord]) -> Finding | None:
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
    return Finding(
        text=f"{count(len(stalled), 'trial')} of {used} stalled: {worst.spec.arm} (trial {worst.spec.number}) had "
        f"{count(tail.transactions, 'transaction')} in {tail.length_s:g} s, where its other trials have many",
        advice="look at that trial's waits, its log and the machine; the interval is wider for it",
        share=len(stalled) / used,
    )


def _stalled(tails: Sequence[tuple[TrialRecord, Tail]]) -> list[tuple[TrialRecord, Tail]]:
    if len(tails) < 2:
        return []
    usual = median([tail.transactions / tail.length_s for _, tail in tails])
    return [(trial, tail) for trial, tail in tails if is_stalled(tail.transactions, usual * tail.length_s)]


def is_stalled(events: int, usual: float) -> bool:
    """Whether a trial with so many events stood still, where ``usual`` are the rule in its time."""
    return events <= STALLED_SHARE * usual and at_most(events, usual) < BY_CHANCE


def lost_in_one_arm(claim: Claim, trials: Sequence[TrialRecord]) -> Finding | None:
    """More trials of one arm than of the other cannot be used: what made them fail may be what is compared."""
    if claim.control == claim.arm:
        return None
    blocks = sorted({trial.spec.block for trial in trials})
    shares = {}
    for name in (claim.control, claim.arm):
        tries = [last_try(name, [trial for trial in trials if trial.spec.block == block]) for block in blocks]
        run = [trial for trial in tries if trial is not None]
        lost = [trial for trial in run if unfit(trial, claim) is not None]
        if not run or len(lost) == len(run):
            # An arm without a single trial makes the claim invalid, or leaves it without blocks.
            return None
        shares[name] = (len(lost), len(run))
    apart = [lost / run for lost, run in shares.values()]
    if abs(apart[1] - apart[0]) < LOST_SHARE:
        return None
    seen = " and ".join(f"{name} {lost} of {count(run, 'trial')}" for name, (lost, run) in shares.items())
    return Finding(
        text=f"of {seen} cannot be used",
        advice="see why they failed: the blocks that are left may be those in which the arm did well",
        share=abs(apart[1] - apart[0]),
    )
