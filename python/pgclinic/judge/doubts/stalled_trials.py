"""Trials that stopped, and trials that are missing: both make a ratio rest on what was left. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from pgclinic.judge.doubts.run import STARVED_SHARE
from pgclinic.judge.evidence import TPS, gather, last_try, unfit
from pgclinic.judge.interval import interval_about, mean_of
from pgclinic.judge.tail_window import Tail, tail_of
from pgclinic.model.doubt import (
    ArmLost,
    ArmStalls,
    Doubt,
    DoubtKind,
    TrialRepeated,
    TrialsLost,
    TrialsStalled,
    WhileRunning,
)
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Interval
from pgclinic.stats.binomial import share_limits
from pgclinic.stats.poisson import at_most
from pgclinic.stats.summary import median

#: A trial with this share of its arm's median rate, or less, did not run slowly but stood still.
STALLED_SHARE = 0.05
#: Unless chance gives so few events of that rate more often than this.
BY_CHANCE = 0.001
#: Arms that lost trials in shares of their blocks this far apart are compared by their survivors.
LOST_SHARE = 0.10


def stalled_trials(claim: Question, trials: Sequence[TrialRecord], interval: Interval | None = None) -> Doubt | None:
    """Trials with no transaction, or hardly one, in an arm whose other trials have many.

    ``interval`` is the claim's: the ratio while both arms run is made for as many planned blocks.
    """
    if claim.measure != TPS:
        return None
    found = {name: _usable(claim, name, trials) for name in claim.levels or (claim.control, claim.arm)}
    stopped = {name: _stalled(own) for name, own in found.items()}
    stalled = [each for own in stopped.values() for each in own]
    repeated = _repeated(claim, trials)
    used = sum(len(own) for own in found.values())
    if not used or not (stalled or repeated):
        return None
    first = stalled[0] if stalled else _first_of(claim, trials, repeated[0])
    return Doubt(
        kind=DoubtKind.STALLED_TRIAL,
        share=len(stalled) / used,
        facts=TrialsStalled(
            stalled=len(stalled),
            used=used,
            arm=first[0].spec.arm,
            trial=first[0].spec.number,
            transactions=first[1].transactions,
            length_s=first[1].length_s,
            arms=tuple(_arm_stalls(name, len(stopped[name]), len(own)) for name, own in found.items() if own),
            running=_while_running(claim, trials, {trial.spec.block for trial, _ in stalled}, interval),
            repeated=repeated,
        ),
    )


def _usable(claim: Question, name: str, trials: Sequence[TrialRecord]) -> list[tuple[TrialRecord, Tail]]:
    """The trials of an arm that count, each block once."""
    blocks = sorted({trial.spec.block for trial in trials})
    last = [last_try(name, [trial for trial in trials if trial.spec.block == block]) for block in blocks]
    return [(trial, tail) for trial in last if trial is not None and (tail := _tail_of(trial, claim)) is not None]


def _tail_of(trial: TrialRecord, claim: Question) -> Tail | None:
    if unfit(trial, claim) is not None or trial.load is None:
        return None
    return tail_of(trial.load, claim.tail_s)


def _arm_stalls(arm: str, stalled: int, trials: int) -> ArmStalls:
    low, high = share_limits(stalled, trials)
    return ArmStalls(arm=arm, stalled=stalled, trials=trials, low=low, high=high)


def _while_running(
    claim: Question, trials: Sequence[TrialRecord], stalled_blocks: Collection[int], interval: Interval | None
) -> WhileRunning | None:
    """The ratio of the blocks that had no stall. How many these are was not planned, so no fixed number holds."""
    if not stalled_blocks or claim.levels:
        return None
    pairs = [pair for pair in gather(claim, trials).pairs if pair.block not in stalled_blocks]
    if not pairs:
        return None
    horizon = interval.blocks_planned if interval is not None else None
    seen = interval_about(mean_of(pairs), fixed=False, horizon=horizon)
    return WhileRunning(blocks=len(pairs), ratio=seen.ratio, low=seen.low, high=seen.high)


def block_to_repeat(claims: Sequence[Question], trials: Sequence[TrialRecord]) -> int | None:
    """The first block with a stall that the machine explains and that was not run again yet; None where there is none.

    A stall that nothing explains may be what the arm does, and stays.
    """
    tries = Counter((trial.spec.block, trial.spec.arm) for trial in trials if not _was_cut_short(trial))
    blocks = set()
    for claim in claims:
        if claim.measure != TPS:
            continue
        for name in claim.levels or (claim.control, claim.arm):
            for trial, _ in _stalled(_usable(claim, name, trials)):
                if _explained(trial) and tries[trial.spec.block, name] == 1:
                    blocks.add(trial.spec.block)
    return min(blocks, default=None)


def _explained(trial: TrialRecord) -> tuple[DoubtKind, ...]:
    """What of the machine explains that the trial stood still, as its own doubts say."""
    return tuple(
        doubt.kind
        for doubt in trial.doubts
        if doubt.kind is DoubtKind.IO_PRESSURE
        or (doubt.kind is DoubtKind.STARVED_CPU and (doubt.share or 0.0) >= STARVED_SHARE)
    )


def _was_cut_short(trial: TrialRecord) -> bool:
    return trial.load is not None and trial.load.stopped == "interrupted"


def _repeated(claim: Question, trials: Sequence[TrialRecord]) -> tuple[TrialRepeated, ...]:
    """Stalled trials that do not count because their block was run again, and why it was."""
    found = []
    for name in claim.levels or (claim.control, claim.arm):
        usual = _usable(claim, name, trials)
        for last, _ in usual:
            same = [one for one in trials if one.spec.arm == name and one.spec.block == last.spec.block]
            for trial in same:
                tail = _tail_of(trial, claim)
                if trial is last or tail is None or not _explained(trial):
                    continue
                if _stalled([*usual, (trial, tail)])[-1:] == [(trial, tail)]:
                    spec = trial.spec
                    found.append(
                        TrialRepeated(
                            block=spec.block,
                            trial=spec.number,
                            arm=name,
                            by=last.spec.number,
                            because=_explained(trial),
                        )
                    )
    return tuple(sorted(found, key=lambda one: one.trial))


def _first_of(claim: Question, trials: Sequence[TrialRecord], repeated: TrialRepeated) -> tuple[TrialRecord, Tail]:
    trial = next(one for one in trials if one.spec.number == repeated.trial)
    tail = _tail_of(trial, claim)
    assert tail is not None  # or it had not been found to stall
    return trial, tail


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
