"""Doubts that show only when the trials of a block are put side by side. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pgclinic.judge.doubts.order_effects import order_doubt
from pgclinic.judge.doubts.periodic_noise import periodic_noise
from pgclinic.judge.doubts.run import Found, gathered
from pgclinic.judge.doubts.stalled_trials import lost_in_one_arm, stalled_trials
from pgclinic.judge.doubts.unequal_conditions import autovacuum_in_one_arm, plans_differ, unequal_cpu
from pgclinic.judge.doubts.uneven_blocks import uneven_blocks
from pgclinic.judge.doubts.unsteady_arms import unsteady_arm
from pgclinic.judge.evidence import OF_THE_LOAD, Pair, gather
from pgclinic.model.doubt import Doubt, DoubtKind, DoubtUnit
from pgclinic.model.sample import numbers
from pgclinic.model.study import Counter, Question, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import ClaimVerdict, IntervalMethod
from pgclinic.trial.checkpoints import CheckpointCount, CheckpointsSeen, checkpoint_in_one_arm, checkpoints_seen
from pgclinic.trial.machine_doubts import too_few_events

#: Arms that set one of these want their checkpoints as they come.
_OF_CHECKPOINTS = frozenset(
    {"checkpoint_timeout", "checkpoint_segments", "checkpoint_completion_target", "max_wal_size", "min_wal_size"}
)


def doubts_side_by_side(
    study: Study, claims: Sequence[ClaimVerdict], trials: Sequence[TrialRecord]
) -> tuple[Doubt, ...]:
    """One doubt a kind, over all claims: the worst one, and in how many blocks it was."""
    by_block: dict[DoubtKind, list[Found]] = defaultdict(list)
    by_claim: dict[DoubtKind, list[Doubt]] = defaultdict(list)
    blocks = 0
    for claim, verdict in zip(study.questions, claims, strict=True):
        pairs = gather(claim, trials, [study.arms[arm].level or 0.0 for arm in claim.levels]).pairs
        blocks = max(blocks, len(pairs))
        for pair in pairs:
            for doubt in _of_block(claim, verdict, pair):
                by_block[doubt.kind].append((pair.block, doubt))
        for doubt in _of_claim(claim, verdict, pairs, trials):
            by_claim[doubt.kind].append(doubt)
    in_blocks = [gathered(found, DoubtUnit.BLOCK, blocks) for found in by_block.values()]
    worst = [max(found, key=lambda one: one.share or 0.0) for found in by_claim.values()]
    return (*in_blocks, *worst)


def _of_block(claim: Question, verdict: ClaimVerdict, pair: Pair) -> list[Doubt]:
    found = (
        _lone_checkpoint(claim, pair),
        autovacuum_in_one_arm(claim, pair),
        _few_events(claim, verdict, pair),
    )
    return [doubt for doubt in found if doubt is not None]


def _of_claim(
    claim: Question, verdict: ClaimVerdict, pairs: Sequence[Pair], trials: Sequence[TrialRecord]
) -> list[Doubt]:
    """What only all blocks of a claim show together."""
    of_load = claim.measure in OF_THE_LOAD
    found = (
        stalled_trials(claim, trials, verdict.interval),
        lost_in_one_arm(claim, trials),
        order_doubt(claim, pairs),
        unsteady_arm(claim, trials),
        uneven_blocks(claim, pairs, verdict.interval),
        periodic_noise(claim, pairs, verdict.interval),
        unequal_cpu(claim, pairs) if of_load else None,
        plans_differ(claim, trials) if of_load else None,
    )
    return [doubt for doubt in found if doubt is not None]


def _lone_checkpoint(claim: Question, pair: Pair) -> Doubt | None:
    if _is_about_checkpoints(claim, pair):
        return None
    control, arm = (seen_checkpoints(trial) for trial in (pair.control, pair.arm))
    return checkpoint_in_one_arm(control, arm) if control is not None and arm is not None else None


def _is_about_checkpoints(claim: Question, pair: Pair) -> bool:
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
        if done is not None and busy_ms is not None and sample.at_s <= trial.load.span_s:
            counts.append(CheckpointCount(at_s=sample.at_s, done=round(done), busy_s=busy_ms / 1000.0))
    return checkpoints_seen(trial.spec.arm, counts)


def _few_events(claim: Question, verdict: ClaimVerdict, pair: Pair) -> Doubt | None:
    """Not for claims that are judged by counts: there few events are reckoned with."""
    if claim.measure not in OF_THE_LOAD or (
        verdict.interval is not None and verdict.interval.method is IntervalMethod.COUNTS
    ):
        return None
    doubts = [too_few_events(trial.load) for trial in pair.trials if trial.load is not None]
    return next((doubt for doubt in doubts if doubt is not None), None)
