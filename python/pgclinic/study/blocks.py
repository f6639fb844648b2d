"""Which blocks of a run bear on a claim, and what the others lacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import LoadResult
from pgclinic.model.study import Claim
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import BlockRatio
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.study.tail import tail_length, transactions_in_tail

#: No event in T seconds means at most 3/T a second with 95 % confidence (Poisson, the "rule of three").
EVENTS_WHEN_NONE = 3

#: Loads that ended for these reasons do not show what the arm does at the end of a whole trial.
_CUT_SHORT = {"interrupted": "it was interrupted", "clients_lost": "all its clients gave up"}


@dataclass(frozen=True)
class Pair:
    """One usable block of a claim. The TPS are those of the tail; of no transactions it is the upper limit, 3/T."""

    block: int
    arm: TrialRecord
    control: TrialRecord
    arm_tps: float
    control_tps: float
    few_transactions: int | None = None

    @property
    def log_ratio(self) -> float:
        return log_ratio(self.arm_tps, self.control_tps)

    @property
    def as_ratio(self) -> BlockRatio:
        return BlockRatio(block=self.block, arm_tps=self.arm_tps, control_tps=self.control_tps)


@dataclass(frozen=True)
class Evidence:
    """What a run offers for one claim: usable blocks in order, and why each other block was left out."""

    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...]

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        return tuple(trial for pair in self.pairs for trial in (pair.control, pair.arm))


def gather(claim: Claim, trials: Sequence[TrialRecord]) -> Evidence:
    """Pair the claim's two arms block by block."""
    pairs: list[Pair] = []
    left_out: list[str] = []
    for block in sorted({trial.spec.block for trial in trials}):
        inside = [trial for trial in trials if trial.spec.block == block]
        outcome = _pair(claim, block, inside)
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


def _pair(claim: Claim, block: int, inside: Sequence[TrialRecord]) -> Pair | str:
    arm, control = _chosen(claim.arm, inside), _chosen(claim.control, inside)
    if arm is None or control is None:
        return f"{claim.arm if arm is None else claim.control} did not run in it"
    for trial in (arm, control):
        missing = _unfit(trial, claim.tail_s)
        if missing is not None:
            return f"{trial.spec.arm} (trial {trial.spec.number}) {missing}"
    counts = _tail(arm, claim.tail_s), _tail(control, claim.tail_s)
    if counts == (0, 0):
        return f"neither arm finished a transaction in its last {tail_length(claim.tail_s)} s"
    length = tail_length(claim.tail_s)
    fewest = min(counts)
    return Pair(
        block=block,
        arm=arm,
        control=control,
        arm_tps=(counts[0] or EVENTS_WHEN_NONE) / length,
        control_tps=(counts[1] or EVENTS_WHEN_NONE) / length,
        few_transactions=fewest if fewest < 30 else None,
    )


def _chosen(arm: str, inside: Sequence[TrialRecord]) -> TrialRecord | None:
    """The arm's trial in this block; the last one where it had to be repeated."""
    own = [trial for trial in inside if trial.spec.arm == arm]
    return max(own, key=lambda trial: trial.spec.number) if own else None


def _unfit(trial: TrialRecord, tail_s: float) -> str | None:
    """Why the trial cannot be used, None where it can."""
    load = trial.load
    if trial.outcome is TrialOutcome.FAILED or load is None:
        return f"failed: {trial.failure or 'it has no load'}"
    if load.stopped in _CUT_SHORT:
        return f"ended early: {_CUT_SHORT[load.stopped]}"
    if transactions_in_tail(load, tail_s) is None:
        return f"measured only {load.measured_s:.1f} s"
    return None


def _tail(trial: TrialRecord, tail_s: float) -> int:
    # _unfit has refused trials without load or with a shorter one.
    load: LoadResult | None = trial.load
    return (transactions_in_tail(load, tail_s) or 0) if load is not None else 0
