"""Doubts that need both trials of a block: a checkpoint on one side, and events too few for a logarithm."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, trial
from pgclinic.judge.doubts.between_arms import seen_checkpoints
from pgclinic.model.doubt import Doubt, DoubtKind
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Condition, Mechanism, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.doubts import doubt_words

STUDY = global_counters()
STUDY = replace(STUDY, claims=STUDY.claims[:1])
RATIOS = (0.60, 0.61, 0.59, 0.605, 0.595)


def sampled(record: TrialRecord, rows: Sequence[tuple[float, int, float]]) -> TrialRecord:
    """(second, checkpoints so far, milliseconds spent in them)."""
    taken = tuple(
        Sample(
            at_s=at,
            view="checkpoints",
            rows=({"timed": 1, "requested": done - 1, "write_ms": busy, "sync_ms": 0.0, "reset_s": 1.0},),
        )
        for at, done, busy in rows
    )
    return replace(record, samples=Samples(taken=taken))


NONE = ((-1.0, 3, 0.0), (0.0, 3, 0.0), (7.9, 3, 0.0))
ONE = ((-1.0, 3, 0.0), (0.0, 3, 0.0), (4.0, 4, 3000.0), (7.9, 4, 3000.0))


def run(held_in: set[int], study: Study = STUDY) -> tuple[TrialRecord, ...]:
    """The held arm has a checkpoint in these blocks, the free arm never."""
    return tuple(
        sampled(one, ONE if one.spec.arm == "held" and one.spec.block in held_in else NONE)
        for one in blocks_of(study, RATIOS)
    )


def doubts(study: Study, trials: tuple[TrialRecord, ...], kind: DoubtKind) -> list[Doubt]:
    return [doubt for doubt in judge(study, trials).doubts if doubt.kind is kind]


def test_a_checkpoint_on_one_side_is_told_once_with_its_blocks() -> None:
    (doubt,) = doubts(STUDY, run({2, 4}), DoubtKind.CHECKPOINT_IN_ONE_ARM)
    assert (
        doubt_words(doubt).text
        == "in 2 of 5 blocks (block 2): held spent 38 % of its time in a checkpoint, free had none"
    )
    assert doubt_words(doubt).advice
    assert doubts(STUDY, run(set()), DoubtKind.CHECKPOINT_IN_ONE_ARM) == []


def test_what_happens_after_the_measured_time_does_not_count() -> None:
    late = sampled(blocks_of(STUDY, RATIOS)[1], (*NONE, (9.2, 4, 3000.0)))
    seen = seen_checkpoints(late)
    assert seen is not None
    assert seen.done == 0
    assert seen_checkpoints(blocks_of(STUDY, RATIOS)[0]) is None, "nothing was sampled"


def test_arms_that_are_about_checkpoints_are_not_doubted_for_them() -> None:
    about = replace(
        STUDY.claims[0], mechanisms=(Mechanism(counter="checkpoint_interval_s", ratio_min=0.5, about="interval"),)
    )
    by_counter = replace(STUDY, claims=(about,))
    assert doubts(by_counter, run({2}, by_counter), DoubtKind.CHECKPOINT_IN_ONE_ARM) == []
    for change in ({"settings": {"checkpoint_timeout": "30s"}}, {"condition": Condition(checkpoint_every_s=1.0)}):
        asked = tuple(
            replace(one, spec=replace(one.spec, **change)) if one.spec.arm == "held" else one for one in run({2})
        )
        assert doubts(STUDY, asked, DoubtKind.CHECKPOINT_IN_ONE_ARM) == []


def with_held_tps(tps: float, blocks: int = 5) -> tuple[TrialRecord, ...]:
    trials: list[TrialRecord] = []
    for block in range(1, blocks + 1):
        trials.append(trial(STUDY, 2 * block - 1, block, "free", [1000.0 + block] * 8))
        trials.append(trial(STUDY, 2 * block, block, "held", [tps] * 8, hits=142, pages=258))
    return tuple(trials)


@pytest.mark.parametrize(("tps", "doubted"), [(1.0, False), (2.0, True), (50.0, False)])
def test_few_events_are_a_doubt_unless_they_are_counted(tps: float, *, doubted: bool) -> None:
    """One a second: 25 in all tails, so that exact limits hold. Two: their logarithms are taken, 16 in a trial."""
    assert bool(doubts(STUDY, with_held_tps(tps), DoubtKind.TOO_FEW_EVENTS)) is doubted
