"""Which blocks of a run bear on a claim, and what the others lacked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

from pgclinic.judge.lost_work import worked_share
from pgclinic.judge.tail_window import Tail, common_length, log_slope, tail_length, tail_of
from pgclinic.model.load import LoadResult
from pgclinic.model.reason import BlockLeftOut, Lack, Unfit
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import BlockRatio
from pgclinic.stats.log_ratio import log_ratio

#: No event in T seconds means at most 3/T a second with 95 % confidence (Poisson, the "rule of three").
EVENTS_WHEN_NONE = 3

#: The measure of a claim that names none.
TPS = "tps"

#: How far TPS came from begin to end of a trial, as a ratio, along the slope of their logarithm.
DECLINE = "decline"

#: Measures of the load itself; every other measure is a counter or a custom metric.
OF_THE_LOAD = frozenset({TPS, DECLINE})

#: A block with fewer transactions than this has a coarse ratio.
FEW = 30

#: Loads that ended for these reasons do not show what the arm does at the end of a whole trial.
_ENDED_EARLY = {"interrupted": Lack.INTERRUPTED, "clients_lost": Lack.CLIENTS_LOST}


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
        return linear_regression(logs, [math.log(value) for value in self.values]).slope * (logs[-1] - logs[0])

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
class ClaimEvidence:
    """What a run offers for one claim: usable blocks in order, and why each other block was left out."""

    pairs: tuple[Pair, ...]
    left_out: tuple[BlockLeftOut, ...]

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        return tuple(trial for pair in self.pairs for trial in pair.trials)


def gather(claim: Question, trials: Sequence[TrialRecord], levels: Sequence[float] = ()) -> ClaimEvidence:
    """Put the claim's arms together block by block; ``levels`` are those of the arms of a sweep."""
    pairs: list[Pair] = []
    left_out: list[BlockLeftOut] = []
    for block in sorted({trial.spec.block for trial in trials}):
        inside = [trial for trial in trials if trial.spec.block == block]
        outcome = _pair(claim, block, inside, tuple(levels))
        if isinstance(outcome, Pair):
            pairs.append(outcome)
        else:
            left_out.append(BlockLeftOut(block=block, unfit=outcome))
    return ClaimEvidence(pairs=tuple(pairs), left_out=tuple(left_out))


def never_started(arm: str, trials: Sequence[TrialRecord]) -> str | None:
    """Why no trial of ``arm`` ever had a running server, in the words of its first one; None where one had.

    A server that ran told its version, even where the trial failed later.
    """
    own = [trial for trial in trials if trial.spec.arm == arm]
    if not own or any(trial.server_version is not None for trial in own):
        return None
    if any(trial.outcome is TrialOutcome.DONE for trial in own):
        return None
    return own[0].failure or own[0].outcome.value


def _pair(claim: Question, block: int, inside: Sequence[TrialRecord], levels: tuple[float, ...]) -> Pair | Unfit:
    chosen: list[TrialRecord] = []
    for name in claim.levels or (claim.control, claim.arm):
        trial = last_try(name, inside)
        if trial is None:
            return Unfit(lack=Lack.DID_NOT_RUN, arm=name)
        missing = unfit(trial, claim)
        if missing is not None:
            return missing
        chosen.append(trial)
    if claim.measure == DECLINE:
        return _pair_of_declines(claim, block, chosen, levels)
    if claim.measure != TPS or claim.reference_value is not None:
        return _pair_of_values(claim, block, chosen, levels)
    tails = [_tail(trial, claim) for trial in chosen]
    if not any(tail.transactions for tail in tails):
        return Unfit(lack=Lack.NO_TRANSACTION, value=tails[0].length_s)
    return Pair(
        block=block,
        trials=tuple(chosen),
        values=tuple(_rate(trial, tail) for trial, tail in zip(chosen, tails, strict=True)),
        levels=levels,
        counts=Counts(tails[-1].transactions, tails[0].transactions, tails[-1].length_s, tails[0].length_s),
    )


def _pair_of_declines(
    claim: Question, block: int, chosen: Sequence[TrialRecord], levels: tuple[float, ...]
) -> Pair | Unfit:
    declines = _declines(claim, chosen)
    if declines is None:
        return Unfit(lack=Lack.NO_COMMON_SLOPE)
    return Pair(block=block, trials=tuple(chosen), values=declines, levels=levels)


def _pair_of_values(
    claim: Question, block: int, chosen: Sequence[TrialRecord], levels: tuple[float, ...]
) -> Pair | Unfit:
    arms = [_value(trial, claim) for trial in chosen[1:]]
    values = [claim.reference_value or _value(chosen[0], claim), *arms]
    if min(values) <= 0:
        return Unfit(lack=Lack.NO_RATIO, measure=claim.measure, value=min(values))
    return Pair(block=block, trials=tuple(chosen), values=tuple(values), levels=levels)


def _value(trial: TrialRecord, claim: Question) -> float:
    # _unfit has refused trials without it.
    if claim.measure == TPS:
        return _rate(trial, _tail(trial, claim))
    return trial.counters[claim.measure]


def _rate(trial: TrialRecord, tail: Tail) -> float:
    """Transactions a second of the time that they took."""
    rate = (tail.transactions or EVENTS_WHEN_NONE) / tail.length_s
    load = trial.load
    return rate / worked_share(load) if load is not None and tail.transactions == load.transactions else rate


def _declines(claim: Question, chosen: Sequence[TrialRecord]) -> tuple[float, ...] | None:
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


def unfit(trial: TrialRecord, claim: Question) -> Unfit | None:
    """Why the trial cannot be used, None where it can."""
    load = trial.load
    if trial.outcome is TrialOutcome.FAILED or load is None:
        return _unfit(trial, Lack.FAILED, failure=trial.failure)
    if trial.outcome is TrialOutcome.PRUNED:
        # What it measured is a bound, not a value.
        return _unfit(trial, Lack.PRUNED)
    if load.stopped in _ENDED_EARLY:
        return _unfit(trial, _ENDED_EARLY[load.stopped])
    if claim.measure in OF_THE_LOAD:
        return _lacks_load(trial, load, claim)
    if claim.reference_value is not None and trial.spec.arm != claim.arm:
        # The reference value stands for what the control measured, which may be nothing; its counters show the cause.
        return None
    return _lacks_measure(trial, claim)


def _lacks_measure(trial: TrialRecord, claim: Question) -> Unfit | None:
    """Why the counter or metric that the claim compares has no ratio in this trial, None where it has one."""
    value = trial.counters.get(claim.measure)
    if value is None:
        return _unfit(trial, Lack.NO_COUNTER, measure=claim.measure)
    return _unfit(trial, Lack.NOT_POSITIVE, measure=claim.measure, value=value) if value <= 0 else None


def _lacks_load(trial: TrialRecord, load: LoadResult, claim: Question) -> Unfit | None:
    """What of the part of the load that counts the trial does not have, None where it has all."""
    if tail_of(load, claim.tail_s) is None:
        return _unfit(trial, Lack.TOO_SHORT, value=load.measured_s)
    if claim.measure == DECLINE and log_slope(load, claim.tail_s) is None:
        return _unfit(trial, Lack.NO_SLOPE)
    return None


def _unfit(
    trial: TrialRecord,
    lack: Lack,
    *,
    measure: str | None = None,
    value: float | None = None,
    failure: str | None = None,
) -> Unfit:
    return Unfit(lack=lack, arm=trial.spec.arm, trial=trial.spec.number, measure=measure, value=value, failure=failure)


def _tail(trial: TrialRecord, claim: Question) -> Tail:
    # unfit() has refused trials without load or with a shorter one.
    tail = tail_of(trial.load, claim.tail_s) if trial.load is not None else None
    assert tail is not None
    return tail
