"""A decline against a control that ran beside it: claims whose measure is the slope of the TPS."""

from __future__ import annotations

import math
import random

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import global_counters, load_result, printed, trial
from pgclinic.judge.decline import hits_by_part
from pgclinic.judge.tail_window import log_slope, tps_between
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Counter, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.reasons import sentences
from pgclinic.study.read import parse_study, study_text

CLAIM = replace(
    global_counters().claims[0],
    name="it-declines",
    measure="decline",
    published=printed(0.6),
    region=None,
    tail_s=None,
    published_windows=None,
    published_others=(),
)
STUDY: Study = replace(global_counters(), claims=(CLAIM,))


def series(draw: random.Random, level: float, end: float, seconds: int) -> list[float]:
    """From ``level`` to ``end`` times of it, along a straight line of the logarithm."""
    return [level * end ** (at / seconds) * draw.lognormvariate(0.0, 0.01) for at in range(seconds)]


def run(*, free_end: float, held_end: float, free_s: int = 20, held_s: int = 20) -> tuple[TrialRecord, ...]:
    draw = random.Random(5)
    trials: list[TrialRecord] = []
    for block in range(1, 7):
        free = series(draw, 20_000, free_end, free_s)
        held = series(draw, 9_000, held_end, held_s)
        trials.append(trial(STUDY, 2 * block - 1, block, "free", free))
        trials.append(trial(STUDY, 2 * block, block, "held", held, hits=142, pages=258))
    return tuple(trials)


def test_a_decline_beyond_the_controls_is_replicated_whatever_the_level() -> None:
    claim = judge(STUDY, run(free_end=1.0, held_end=0.6)).headline
    assert claim.word is VerdictWord.REPLICATED
    assert claim.interval is not None
    assert claim.interval.ratio == pytest.approx(0.6, rel=0.03)
    assert claim.blocks[0].control_value == pytest.approx(1.0, rel=0.03)
    assert any("Theil and Sen" in step for step in sentences(claim.reasons))


def test_a_decline_that_the_control_shares_is_none() -> None:
    claim = judge(STUDY, run(free_end=0.6, held_end=0.6)).headline
    assert claim.word is VerdictWord.NO_EFFECT


def test_arms_of_different_length_are_compared_over_the_same_time() -> None:
    """Both lose 1 % a second; the control was measured half as long."""
    claim = judge(STUDY, run(free_end=0.99**10, held_end=0.99**20, free_s=10)).headline
    assert claim.interval is not None
    assert claim.interval.ratio == pytest.approx(1.0, abs=0.02)


def test_a_warm_up_that_both_arms_share_is_no_decline_whatever_their_lengths() -> None:
    """A fifth is lost in the first seconds of every trial; the control of 10 s was once stretched to the arm's 30 s."""

    def started(level: float, seconds: int) -> list[float]:
        return [level * (0.8 + 0.2 * math.exp(-at / 5)) for at in range(seconds)]

    trials = []
    for block in range(1, 7):
        first = 1 + block % 2
        free, held = started(20_000 + 30 * block, 10), started(9_000 - 20 * block, 30)
        trials.append(trial(STUDY, 2 * block - 1, block, "free", free, position=first))
        trials.append(trial(STUDY, 2 * block, block, "held", held, position=3 - first, hits=142, pages=258))
    claim = judge(STUDY, tuple(trials)).headline
    assert claim.interval is not None
    assert claim.interval.ratio == pytest.approx(1.0, abs=0.01)
    assert claim.word is VerdictWord.NO_EFFECT


def test_a_trial_without_a_slope_leaves_its_block_out() -> None:
    trials = list(run(free_end=1.0, held_end=0.6))
    trials[1] = replace(trials[1], load=load_result([50.0, 0, 0, 0, 40.0, 0, 30.0, 0]))
    claim = judge(STUDY, tuple(trials)).headline
    assert [block.block for block in claim.blocks] == [2, 3, 4, 5, 6]
    assert any("too few seconds with a transaction for a slope" in step for step in sentences(claim.reasons))


def test_the_slope_is_that_of_the_part_that_counts_and_long_trials_have_it_too() -> None:
    turning = load_result([1000.0] * 20 + [1000.0 * math.exp(-0.02 * at) for at in range(20)])
    assert log_slope(turning, 20) == pytest.approx(-0.02, abs=0.001)
    assert log_slope(turning, None) == pytest.approx(-0.007, abs=0.006)
    long = load_result([10_000.0 * math.exp(-0.001 * at) for at in range(1000)])
    assert log_slope(long, None) == pytest.approx(-0.001, rel=0.01)


def test_a_study_file_may_claim_a_decline() -> None:
    named = 'name = "held-is-slower"'
    text = study_text("global-counters").replace(named, f'{named}\nmeasure = "decline"', 1)
    assert parse_study(text, "a file").claims[0].measure == "decline"


def growing(each: TrialRecord, hits_by_third: tuple[float, float, float]) -> TrialRecord:
    """The trial with the server's counters of 20 seconds, in which so many hits stood behind each transaction."""
    hits = commits = 0
    taken = []
    for second in range(21):
        taken.append(Sample(at_s=float(second), view="database", rows=({"commits": commits, "hits": hits},)))
        commits += 1000
        hits += round(1000 * hits_by_third[min(2, 3 * second // 20)])
    return replace(each, samples=Samples(taken=tuple(taken)))


@pytest.mark.parametrize(
    ("hits", "one_way", "word"),
    [
        ((50.0, 140.0, 230.0), True, VerdictWord.REPLICATED),
        ((140.0, 142.0, 90.0), False, VerdictWord.INVALID),
    ],
)
def test_a_decline_needs_a_cause_that_keeps_growing(
    hits: tuple[float, float, float], one_way: bool, word: VerdictWord
) -> None:
    trials = [growing(each, hits) if each.spec.arm == "held" else each for each in run(free_end=1.0, held_end=0.6)]
    claim = judge(STUDY, trials).headline
    seen = next(mechanism for mechanism in claim.mechanisms if mechanism.counter == Counter.BUFFER_HITS_PER_TRANSACTION)
    assert (seen.one_way, seen.moved, claim.word) == (one_way, one_way, word)
    said = "it kept growing in each trial" if one_way else "it did not keep growing in each trial"
    assert any(said in step for step in sentences(claim.reasons))


def test_a_counter_nobody_sampled_is_not_held_against_the_claim() -> None:
    claim = judge(STUDY, run(free_end=1.0, held_end=0.6)).headline
    assert {mechanism.one_way for mechanism in claim.mechanisms} == {None}


def test_a_short_trial_has_no_thirds() -> None:
    whole = growing(run(free_end=1.0, held_end=0.6)[1], (50.0, 140.0, 230.0))
    assert hits_by_part(whole) is not None
    assert hits_by_part(replace(whole, samples=Samples(taken=whole.samples.taken[:12]))) is None


@pytest.mark.parametrize(
    ("start_s", "end_s", "tps"),
    [
        (0.0, 5.0, 100.0),
        (5.0, 10.0, 200.0),
        (5.0, 10.5, 200.0),
        (5.0, 11.0, None),
        (0.0, math.inf, None),
        (math.inf, math.inf, None),
        (-1.0, 5.0, None),
        (5.0, 5.0, None),
    ],
)
def test_a_window_beyond_the_trial_has_no_tps(start_s: float, end_s: float, tps: float | None) -> None:
    assert tps_between(load_result([100.0] * 5 + [200.0] * 5), start_s, end_s) == tps
