"""Doubts that show only when the trials of a block are put side by side. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pgclinic.model.sample import numbers
from pgclinic.model.study import Claim, Counter, Study
from pgclinic.model.trial import Doubt, DoubtKind, TrialRecord
from pgclinic.model.verdict import ClaimVerdict, IntervalMethod
from pgclinic.study.blocks import OF_THE_LOAD, Pair, gather
from pgclinic.study.figures import count
from pgclinic.study.order_effects import order_doubt
from pgclinic.study.stalled_trials import lost_in_one_arm, stalled_trials
from pgclinic.study.unequal_conditions import autovacuum_in_one_arm, plans_differ, unequal_cpu
from pgclinic.study.uneven_blocks import uneven_blocks
from pgclinic.study.unsteady_arms import unsteady_arm
from pgclinic.trial.checkpoints import CheckpointCount, CheckpointsSeen, checkpoint_in_one_arm, checkpoints_seen
from pgclinic.trial.finding import Finding
from pgclinic.trial.machine_doubts import too_few_events

#: Arms that set one of these want their checkpoints as they come.
_OF_CHECKPOINTS = frozenset(
    {"checkpoint_timeout", "checkpoint_segments", "checkpoint_completion_target", "max_wal_size", "min_wal_size"}
)

#: One trial's finding, and where it was.
_Found = tuple[int, Finding]


def doubts_side_by_side(
    study: Study, claims: Sequence[ClaimVerdict], trials: Sequence[TrialRecord]
) -> tuple[Doubt, ...]:
    """One doubt a kind, over all claims: the worst one's text, and in how many blocks it was."""
    by_block: dict[DoubtKind, list[_Found]] = defaultdict(list)
    by_claim: dict[DoubtKind, list[Finding]] = defaultdict(list)
    blocks = 0
    for claim, verdict in zip(study.claims, claims, strict=True):
        pairs = gather(claim, trials, [study.arms[arm].level or 0.0 for arm in claim.levels]).pairs
        blocks = max(blocks, len(pairs))
        for pair in pairs:
            for kind, finding in _of_block(claim, verdict, pair):
                by_block[kind].append((pair.block, finding))
        for kind, found in _of_claim(claim, verdict, pairs, trials):
            by_claim[kind].append(found)
    gathered = [_gathered(kind, found, blocks) for kind, found in by_block.items()]
    worst = [max(found, key=lambda one: one.share or 0.0).as_doubt(kind) for kind, found in by_claim.items()]
    return (*gathered, *worst)


def _of_block(claim: Claim, verdict: ClaimVerdict, pair: Pair) -> list[tuple[DoubtKind, Finding]]:
    found = (
        (DoubtKind.CHECKPOINT_IN_ONE_ARM, _lone_checkpoint(claim, pair)),
        (DoubtKind.AUTOVACUUM_IN_ONE_ARM, autovacuum_in_one_arm(claim, pair)),
        (DoubtKind.TOO_FEW_EVENTS, _few_events(claim, verdict, pair)),
    )
    return [(kind, finding) for kind, finding in found if finding is not None]


def _of_claim(
    claim: Claim, verdict: ClaimVerdict, pairs: Sequence[Pair], trials: Sequence[TrialRecord]
) -> list[tuple[DoubtKind, Finding]]:
    """What only all blocks of a claim show together."""
    of_load = claim.measure in OF_THE_LOAD
    found = (
        (DoubtKind.STALLED_TRIAL, stalled_trials(claim, trials)),
        (DoubtKind.TRIALS_LOST, lost_in_one_arm(claim, trials)),
        (DoubtKind.ORDER_EFFECT, order_doubt(claim, pairs)),
        (DoubtKind.NO_STEADY_STATE, unsteady_arm(claim, trials)),
        (DoubtKind.UNEVEN_BLOCKS, uneven_blocks(claim, pairs, verdict.interval)),
        (DoubtKind.UNEQUAL_CPU, unequal_cpu(claim, pairs) if of_load else None),
        (DoubtKind.PLANS_DIFFER, plans_differ(claim, trials) if of_load else None),
    )
    return [(kind, finding) for kind, finding in found if finding is not None]


def _gathered(kind: DoubtKind, found: Sequence[_Found], blocks: int) -> Doubt:
    block, worst = max(found, key=lambda one: (one[1].share or 0.0, -one[0]))
    within = len({number for number, _ in found})
    return Doubt(
        kind=kind,
        text=f"in {within} of {count(blocks, 'block')} (block {block}): {worst.text}",
        advice=worst.advice,
        share=worst.share,
    )


def _lone_checkpoint(claim: Claim, pair: Pair) -> Finding | None:
    if _is_about_checkpoints(claim, pair):
        return None
    control, arm = (seen_checkpoints(trial) for trial in (pair.control, pair.arm))
    return checkpoint_in_one_arm(control, arm) if control is not None and arm is not None else None


def _is_about_checkpoints(claim: Claim, pair: Pair) -> bool:
    counters = {claim.measure, *(mechanism.counter for mechanism in claim.mechanisms)}
    if Counter.CHECKPOINT_INTERVAL_S in counters:
        return True
    one, two = pair.control.spec, pair.arm.spec
    if one.condition.checkpoint_every_s != two.condition.checkpoint_every_s:
        return True
    return bool(_OF_CHECKPOINTS & (one.settings.keys() | two.settings.keys()))


def seen_checkpoints(trial: TrialRecord) -> CheckpointsSeen | None:
    """The checkpoints of the measured time, from the server's counters; None where these could not be read."""
    if trial.load is None:
        return None
    counts = []
    for sample in trial.samples.of("checkpoints"):
        done = numbers(sample.rows[0], ("timed", "requested")) if sample.rows else None
        busy_ms = numbers(sample.rows[0], ("write_ms", "sync_ms")) if sample.rows else None
        if done is not None and busy_ms is not None and sample.at_s <= trial.load.measured_s:
            counts.append(CheckpointCount(at_s=sample.at_s, done=round(done), busy_s=busy_ms / 1000.0))
    return checkpoints_seen(trial.spec.arm, counts)


def _few_events(claim: Claim, verdict: ClaimVerdict, pair: Pair) -> Finding | None:
    """Not for claims that are judged by counts: there few events are reckoned with."""
    if claim.measure not in OF_THE_LOAD or (
        verdict.interval is not None and verdict.interval.method is IntervalMethod.COUNTS
    ):
        return None
    findings = [too_few_events(trial.load) for trial in pair.trials if trial.load is not None]
    return next((finding for finding in findings if finding is not None), None)
