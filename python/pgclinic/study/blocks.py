"""Which blocks of a run bear on a claim, and what the others lacked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import LoadResult
from pgclinic.model.study import Claim
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import BlockRatio
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.slope import least_squares_slope
from pgclinic.study.tail_window import Tail, common_length, log_slope, tail_length, tail_of

#: No event in T seconds means at most 3/T a second with 95 % confidence (Poisson, the "rule of three").
EVENTS_WHEN_NONE = 3

#: The measure of a claim that names none.
TPS = "tps"

#: How far TPS came from begin to end of a trial, as a ratio, along the slope of their logarithm.
DECLINE = "decline"

#: What the load itself tells; every other measure is a counter or a gauge.
OF_THE_LOAD = frozenset({TPS, DECLINE})

#: A block with fewer transactions than this has a coarse ratio.
FEW = 30

#: Loads that ended for these reasons do not show what the arm does at the end of a whole trial.
_CUT_SHORT = {"interrupted": "it was interrupted", "clients_lost": "all its clients gave up"}


@dataclass(frozen=True)
class Counts:
    """Commits of both arms in the parts of their trials that count, and how long these parts were."""

    arm: int
    control: int
    arm_s: float
    control_s: float

    @property
    def fewest(self) -> int:
        return min(self.arm, self.control)


@dataclass(frozen=True)
class Pair:
    """One usable block of a claim: one trial for each level, the control first and the arm last, and what it measured.

    TPS are those of the tail; of no transactions it is the upper limit, 3/T. ``levels`` are set for a sweep,
    ``counts`` where the measure is TPS.
    """

    block: int
    trials: tuple[TrialRecord, ...]
    values: tuple[float, ...]
    levels: tuple[float, ...] = ()
    counts: Counts | None = None

    @property
    def control(self) -> TrialRecord:
        return self.trials[0]

    @property
    def arm(self) -> TrialRecord:
        return self.trials[-1]

    @property
    def arm_later(self) -> bool:
        """Whether the arm ran after the control; a trial that was repeated keeps its position."""
        return self.arm.spec.position > self.control.spec.position

    @property
    def few_transactions(self) -> int | None:
        """The smaller count where it is too small to be taken for a rate; None where it is not."""
        return self.counts.fewest if self.counts is not None and self.counts.fewest < FEW else None

    @property
    def log_ratio(self) -> float:
        """Of arm to control; in a sweep by the straight line through all levels, both axes logarithmic."""
        if not self.levels:
            return log_ratio(self.values[-1], self.values[0])
        logs = [math.log(level) for level in self.levels]
        return least_squares_slope(logs, [math.log(value) for value in self.values]) * (logs[-1] - logs[0])

    @property
    def as_ratio(self) -> BlockRatio:
        return BlockRatio(
            block=self.block,
            arm_value=self.values[-1],
            control_value=self.values[0],
            ratio=math.exp(self.log_ratio),
            values=self.values if self.levels else (),
            arm_later=self.arm_later,
        )


@dataclass(frozen=True)
class Evidence:
    """What a run offers for one claim: usable blocks in order, and why each other block was left out."""

    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...]

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        return tuple(trial for pair in self.pairs for trial in pair.trials)


def gather(claim: Claim, trials: Sequence[TrialRecord], levels: Sequence[float] = ()) -> Evidence:
    """Put the claim's arms together block by block; ``levels`` are those of the arms of a sweep."""
    pairs: list[Pair] = []
    left_out: list[str] = []
    for block in sorted({trial.spec.block for trial in trials}):
        inside = [trial for trial in trials if trial.spec.block == block]
        outcome = _pair(claim, block, inside, tuple(levels))
        if isinstance(outcome, Pair):
            pairs.append(outcome)
        else:
            left_out.append(f"block {block} is left out: {outcome}")
    return Evidence(pairs=tuple(pairs), left_out=tuple(left_out))


def never_started(arm: str, trials: Sequence[TrialRecord]) -> str | None:
    """Why no trial of ``arm`` ever had a running server, in the words of its first one; None where one had.

    A server that ran told its version, even where the trial failed later.
    """
    own = [trial for trial in trials if trial.spec.arm == arm]
    if not own or any(trial.server_version is not None for trial in own):
        return None
    if any(trial.outcome is TrialOutcome.DONE for trial in own):
        return None
    return own[0].failure or "no reason was recorded"


def _pair(claim: Claim, block: int, inside: Sequence[TrialRecord], levels: tuple[float, ...]) -> Pair | str:
    chosen: list[TrialRecord] = []
    for name in claim.levels or (claim.control, claim.arm):
        trial = last_try(name, inside)
        if trial is None:
            return f"{name} did not run in it"
        missing = unfit(trial, claim)
        if missing is not None:
            return f"{trial.spec.arm} (trial {trial.spec.number}) {missing}"
        chosen.append(trial)
    if claim.measure == DECLINE:
        return _pair_of_declines(claim, block, chosen, levels)
    if claim.measure != TPS or claim.reference_value is not None:
        return _pair_of_values(claim, block, chosen, levels)
    tails = [_tail(trial, claim) for trial in chosen]
    if not any(tail.transactions for tail in tails):
        return f"neither arm finished a transaction in its last {tails[0].length_s:g} s"
    return Pair(
        block=block,
        trials=tuple(chosen),
        values=tuple((tail.transactions or EVENTS_WHEN_NONE) / tail.length_s for tail in tails),
        levels=levels,
        counts=Counts(tails[-1].transactions, tails[0].transactions, tails[-1].length_s, tails[0].length_s),
    )


def _pair_of_declines(claim: Claim, block: int, chosen: Sequence[TrialRecord], levels: tuple[float, ...]) -> Pair | str:
    declines = _declines(claim, chosen)
    if declines is None:
        return "its trials have too few seconds in common for a slope"
    return Pair(block=block, trials=tuple(chosen), values=declines, levels=levels)


def _pair_of_values(claim: Claim, block: int, chosen: Sequence[TrialRecord], levels: tuple[float, ...]) -> Pair | str:
    values = [_value(trial, claim) for trial in chosen]
    if claim.reference_value is not None:
        values[0] = claim.reference_value
    if min(values) <= 0:
        return f"{claim.measure} is {min(values):g} there, which has no ratio to anything"
    return Pair(block=block, trials=tuple(chosen), values=tuple(values), levels=levels)


def _value(trial: TrialRecord, claim: Claim) -> float:
    # _unfit has refused trials without it.
    if claim.measure == TPS:
        tail = _tail(trial, claim)
        return (tail.transactions or EVENTS_WHEN_NONE) / tail.length_s
    return trial.counters[claim.measure]


def _declines(claim: Claim, chosen: Sequence[TrialRecord]) -> tuple[float, ...] | None:
    """End over begin of each trial, over the same seconds since the start of each.

    What a start does to both, such as a cache that fills, then cancels; a short trial's slope stretched to the length
    of a long one would not. None where so few seconds have a transaction in all trials that there is no slope.
    """
    common_s = common_length([trial.load for trial in chosen if trial.load is not None])
    over_s = common_s if claim.tail_s is None else min(common_s, tail_length(claim.tail_s))
    slopes = [log_slope(trial.load, claim.tail_s, common_s) if trial.load is not None else None for trial in chosen]
    known = [slope for slope in slopes if slope is not None]
    return tuple(math.exp(slope * over_s) for slope in known) if len(known) == len(chosen) else None


def last_try(arm: str, inside: Sequence[TrialRecord]) -> TrialRecord | None:
    """The arm's trial in this block; the last one where it had to be repeated."""
    own = [trial for trial in inside if trial.spec.arm == arm]
    return max(own, key=lambda trial: trial.spec.number) if own else None


def unfit(trial: TrialRecord, claim: Claim) -> str | None:
    """Why the trial cannot be used, None where it can."""
    load = trial.load
    if trial.outcome is TrialOutcome.FAILED or load is None:
        return f"failed: {trial.failure or 'it has no load'}"
    if load.stopped in _CUT_SHORT:
        return f"ended early: {_CUT_SHORT[load.stopped]}"
    if claim.measure in OF_THE_LOAD and tail_of(load, claim.tail_s) is None:
        return f"measured only {load.measured_s:.1f} s"
    return _lacks(trial, load, claim)


def _lacks(trial: TrialRecord, load: LoadResult, claim: Claim) -> str | None:
    """What of the claim's measure the trial does not have, None where it has all."""
    if claim.measure not in OF_THE_LOAD and claim.measure not in trial.counters:
        return f"has no {claim.measure}"
    if claim.measure not in OF_THE_LOAD and trial.counters[claim.measure] <= 0:
        return f"has a {claim.measure} of {trial.counters[claim.measure]:g}, and only values above 0 have a ratio"
    if claim.measure == DECLINE and log_slope(load, claim.tail_s) is None:
        return "has too few seconds with a transaction for a slope"
    return None


def _tail(trial: TrialRecord, claim: Claim) -> Tail:
    # unfit() has refused trials without load or with a shorter one.
    tail = tail_of(trial.load, claim.tail_s) if trial.load is not None else None
    assert tail is not None
    return tail
