"""From trials to a verdict: words, intervals, refusals, windows."""

import math

import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, load_result, printed, run_info, trial
from pgclinic.judge.verdict import decided
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.reasons import sentences

STUDY = global_counters()
STEADY = (0.60, 0.61, 0.59, 0.605, 0.595)


def headline(*ratios: float) -> ClaimVerdict:
    return judge(STUDY, blocks_of(STUDY, ratios)).headline


def around(centre: float, spread: float = 0.004) -> tuple[float, ...]:
    return tuple(centre * math.exp(spread * step) for step in (-2, -1, 0, 1, 2))


@pytest.mark.parametrize(
    ("centre", "word", "qualifier"),
    [
        (0.60, VerdictWord.REPLICATED, None),
        (0.85, VerdictWord.REPLICATED_IN_DIRECTION, "weaker"),
        (0.20, VerdictWord.REPLICATED_IN_DIRECTION, "stronger"),
        (1.00, VerdictWord.NO_EFFECT, None),
        (1.30, VerdictWord.CONTRADICTED, None),
        (0.952, VerdictWord.NOT_REPLICATED, None),
        (1.05, VerdictWord.NOT_REPLICATED, None),
    ],
)
def test_each_word(centre: float, word: VerdictWord, qualifier: str | None) -> None:
    claim = headline(*around(centre))
    assert (claim.word, claim.qualifier) == (word, qualifier)


def test_interval_that_straddles_the_region_leaves_the_size_open() -> None:
    claim = headline(*around(0.75, 0.02))
    assert claim.word is VerdictWord.REPLICATED_IN_DIRECTION
    assert claim.qualifier is None
    assert "size is still open" in sentences(claim.reasons)[-1]


@pytest.mark.parametrize(
    ("centre", "spread", "expected"),
    [
        (0.60, 0.004, True),
        (0.75, 0.02, False),  # straddles the region's weak edge
        (0.85, 0.004, True),  # weaker for good
        (0.20, 0.004, True),  # stronger for good
        (1.00, 0.004, True),
        (1.30, 0.004, True),
        (0.952, 0.004, False),  # refuted; weaker or no effect may still show
    ],
)
def test_decided(centre: float, spread: float, expected: bool) -> None:
    assert decided(judge(STUDY, blocks_of(STUDY, around(centre, spread)))) is expected


@pytest.mark.parametrize("blocks", range(5))
def test_too_few_blocks_are_inconclusive_and_say_how_many_more(blocks: int) -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY[:blocks]))
    claim = verdict.headline
    assert claim.word is VerdictWord.INCONCLUSIVE
    assert claim.blocks_needed == 5 - blocks
    assert not decided(verdict)
    if blocks:
        assert claim.interval is not None
        assert (claim.interval.low, claim.interval.high) == (None, None)
    else:
        assert claim.interval is None


def test_the_estimate_of_blocks_needed_grows_with_the_noise() -> None:
    calm = headline(0.80, 0.85, 0.95, 1.02, 1.10).blocks_needed
    noisy = headline(0.70, 0.80, 0.95, 1.08, 1.25).blocks_needed
    assert calm is not None
    assert noisy is not None
    assert noisy > calm > 0


def test_only_the_tail_counts() -> None:
    trials = []
    for block, wobble in enumerate((0.99, 1.0, 1.01, 1.0, 0.995), start=1):
        falling = [10_000.0] * 10 + [6000.0 * wobble] * 5
        trials.append(trial(STUDY, 2 * block - 1, block, "free", [10_000.0] * 8))
        trials.append(trial(STUDY, 2 * block, block, "held", falling, hits=142, pages=258))
    claim = judge(STUDY, tuple(trials)).headline
    assert claim.interval is not None
    assert claim.interval.ratio == pytest.approx(0.599, abs=0.001)
    assert claim.blocks[0].arm_value == pytest.approx(5940)


def test_a_partial_last_second_is_not_counted() -> None:
    whole = load_result([1000.0] * 6 + [300.0], measured_s=6.3)
    trials = list(blocks_of(STUDY, (0.6,)))
    trials[0] = trial(STUDY, 1, 1, "free", [], load=whole)
    assert judge(STUDY, tuple(trials)).headline.blocks[0].control_value == 1000.0


def test_seconds_are_summed_over_scripts() -> None:
    trials = list(blocks_of(STUDY, (0.6,)))
    trials[0] = trial(STUDY, 1, 1, "free", [], load=load_result([900.0] * 6, scripts=("a", "b")))
    assert judge(STUDY, tuple(trials)).headline.blocks[0].control_value == 900.0


def test_a_measure_without_a_logarithm_leaves_its_block_out() -> None:
    """A gauge may well give 0; that ended in a traceback after all trials had been run."""
    study = replace(STUDY, claims=(replace(STUDY.claims[0], measure="grown_bytes", tail_s=None, mechanisms=()),))
    trials = [replace(one, counters={"grown_bytes": 0.0}) for one in blocks_of(study, STEADY)]
    claim = judge(study, trials).headline
    assert not claim.blocks
    assert any(
        "has a grown_bytes of 0, and only values above 0 have a ratio" in step for step in sentences(claim.reasons)
    )


def test_a_failed_trial_leaves_its_block_out() -> None:
    trials = list(blocks_of(STUDY, (*STEADY, 0.6)))
    trials[3] = failed_trial(STUDY, 4, 2, "held", "the server was killed", server_version="18.6")
    verdict = judge(STUDY, tuple(trials))
    assert [block.block for block in verdict.headline.blocks] == [1, 3, 4, 5, 6]
    assert verdict.headline.word is VerdictWord.REPLICATED
    assert (verdict.trials_done, verdict.trials_failed) == (11, 1)
    assert any("held (trial 4) failed: the server was killed" in step for step in sentences(verdict.headline.reasons))


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (load_result([1000.0] * 3), "measured only 3.0 s"),
        (load_result([1000.0] * 8, stopped="interrupted"), "it was interrupted"),
        (load_result([1000.0] * 8, stopped="clients_lost"), "all its clients gave up"),
    ],
)
def test_an_unfit_load_leaves_its_block_out(load: object, reason: str) -> None:
    trials = list(blocks_of(STUDY, STEADY))
    trials[0] = replace(trials[0], load=load)
    how = sentences(judge(STUDY, tuple(trials)).headline.reasons)
    assert any("block 1 is left out".casefold() in step.casefold() and reason in step for step in how)


def test_a_block_without_one_arm_is_left_out() -> None:
    trials = blocks_of(STUDY, STEADY)[:-1]
    assert len(judge(STUDY, trials).headline.blocks) == 4


def test_a_repeated_trial_replaces_the_first() -> None:
    first = failed_trial(STUDY, 90, 1, "held", "lost", server_version="18.6")
    trials = blocks_of(STUDY, STEADY)
    repeated = tuple(replace(t, spec=replace(t.spec, number=t.spec.number + 100)) for t in trials)
    assert len(judge(STUDY, (first, *repeated)).headline.blocks) == 5


def test_no_transaction_at_all_counts_as_the_most_that_none_allows() -> None:
    trials = []
    for block in range(1, 6):
        trials.append(trial(STUDY, 2 * block - 1, block, "free", [1000.0] * 8))
        trials.append(trial(STUDY, 2 * block, block, "held", [1000.0, 0, 0, 0, 0, 0, 0], hits=142, pages=258))
    claim = judge(STUDY, tuple(trials)).headline
    assert claim.blocks[0].arm_value == pytest.approx(3 / 5)
    assert any("fewer than 30 transactions" in step for step in sentences(claim.reasons))


def test_a_block_where_both_arms_stand_still_is_left_out() -> None:
    dead = [0.0] * 8
    trials = (trial(STUDY, 1, 1, "free", dead), trial(STUDY, 2, 1, "held", dead))
    assert judge(STUDY, trials).headline.blocks == ()


def test_a_counter_that_did_not_move_makes_the_claim_invalid() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY, hits=(6.0, 6.1)))
    assert verdict.headline.word is VerdictWord.INVALID
    assert any(
        "buffer hits per update" in step and "did not change" in step for step in sentences(verdict.headline.reasons)
    )
    assert decided(verdict)


def test_a_counter_that_moved_the_wrong_way_did_not_move() -> None:
    claim = judge(STUDY, blocks_of(STUDY, STEADY, hits=(142.0, 6.0))).headline
    assert [seen.moved for seen in claim.mechanisms] == [False, True]


def test_a_counter_that_could_not_be_read_did_not_move() -> None:
    claim = judge(STUDY, blocks_of(STUDY, STEADY, pages=(3, None))).headline
    assert claim.word is VerdictWord.INVALID
    assert (claim.mechanisms[1].arm, claim.mechanisms[1].control) == (None, 3.0)
    assert any("could not be read in held" in step for step in sentences(claim.reasons))


def test_a_counter_may_be_claimed_to_fall() -> None:
    study = with_mechanism_ratio(0.5)
    assert judge(study, blocks_of(study, STEADY, hits=(10.0, 4.0))).headline.mechanisms[0].moved
    assert not judge(study, blocks_of(study, STEADY, hits=(10.0, 6.0))).headline.mechanisms[0].moved


def with_mechanism_ratio(ratio_min: float) -> Study:
    claim = STUDY.claims[0]
    mechanisms = (replace(claim.mechanisms[0], ratio_min=ratio_min), *claim.mechanisms[1:])
    return replace(STUDY, claims=(replace(claim, mechanisms=mechanisms),))


def test_an_arm_that_never_started_is_invalid() -> None:
    trials = [t for t in blocks_of(STUDY, STEADY) if t.spec.arm == "free"]
    trials += [failed_trial(STUDY, 20 + n, n, "held", "could not bind") for n in range(1, 6)]
    verdict = judge(STUDY, tuple(trials))
    assert verdict.headline.word is VerdictWord.INVALID
    assert any(
        "held never had a running server" in step and "could not bind" in step
        for step in sentences(verdict.headline.reasons)
    )
    assert not decided(verdict)


def test_an_arm_that_started_and_was_lost_is_inconclusive() -> None:
    trials = (
        trial(STUDY, 1, 1, "free", [1000.0] * 8),
        failed_trial(STUDY, 2, 1, "held", "the server was killed", server_version="18.6"),
    )
    assert judge(STUDY, trials).headline.word is VerdictWord.INCONCLUSIVE


def with_starved(trials: tuple[TrialRecord, ...], numbers: set[int], share: float) -> tuple[TrialRecord, ...]:
    return tuple(replace(t, doubts=(starved(share),)) if t.spec.number in numbers else t for t in trials)


@pytest.mark.parametrize(
    ("numbers", "share", "word"),
    [
        ({1, 2, 3, 4}, 0.5, VerdictWord.INVALID),
        ({1, 2, 3, 4}, 0.49, VerdictWord.REPLICATED),
        ({1, 2, 3}, 0.9, VerdictWord.REPLICATED),  # 3 of 10 is not more than a third
    ],
)
def test_a_starved_machine_is_refused(numbers: set[int], share: float, word: VerdictWord) -> None:
    verdict = judge(STUDY, with_starved(blocks_of(STUDY, STEADY), numbers, share))
    assert verdict.headline.word is word
    if word is VerdictWord.INVALID:
        assert any("Refused" in step for step in sentences(verdict.headline.reasons))
        assert not decided(verdict)


def test_doubts_are_gathered_one_a_kind_with_count_and_worst_share() -> None:
    trials = with_starved(blocks_of(STUDY, STEADY), {2, 5}, 0.2)
    trials = with_starved(trials, {7}, 0.3)
    verdict = judge(STUDY, trials)
    assert len(verdict.doubts) == 1
    assert verdict.doubts[0].share == 0.3
    assert doubt_words(verdict.doubts[0]).text == "in 3 of 10 trials, worst 30 % (trial 7): " + (
        "other processes took 30 % of the CPU; server and load obtained 12.0 of 20.0 CPU seconds"
    )


def test_published_windows_stand_beside_measured_ones() -> None:
    trials, _ = StudyRun(held_s=22).make()
    windows = judge(STUDY, trials).headline.windows
    assert [window.published_tps for window in windows] == [7228.1, 6591.6, 6011.2, 5503.5, 4574.6, 4360.8]
    assert [(w.start_s, w.end_s) for w in windows] == [(5.0 * n, 5.0 * n + 5) for n in range(6)]
    measured = [window.measured_tps for window in windows]
    assert measured[4:] == [None, None]
    known = [value for value in measured if value is not None]
    assert known == sorted(known, reverse=True)


def test_a_real_looking_run_is_replicated() -> None:
    trials, _ = StudyRun().make()
    verdict = judge(STUDY, trials)
    assert verdict.headline.word is VerdictWord.REPLICATED
    assert verdict.server_version == "18.6"
    assert decided(verdict)


def test_the_order_in_which_trials_are_given_does_not_matter() -> None:
    trials, _ = StudyRun().make()
    assert judge(STUDY, tuple(reversed(trials))) == judge(STUDY, trials)


def test_a_claim_of_no_difference() -> None:
    study = replace(
        STUDY,
        claims=(replace(STUDY.claims[0], published=printed(1.0), mechanisms=()),),
    )
    assert judge(study, blocks_of(study, around(1.0))).headline.word is VerdictWord.REPLICATED
    assert judge(study, blocks_of(study, around(0.8))).headline.word is VerdictWord.CONTRADICTED
    assert judge(study, blocks_of(study, around(1.2))).headline.word is VerdictWord.CONTRADICTED
    assert judge(study, blocks_of(study, around(0.95))).headline.word is VerdictWord.INCONCLUSIVE


def test_a_region_named_by_the_study_is_used() -> None:
    study = replace(STUDY, claims=(replace(STUDY.claims[0], region=(0.55, 0.58)),))
    claim = judge(study, blocks_of(study, STEADY)).headline
    assert claim.region == (0.55, 0.58)
    assert (claim.word, claim.qualifier) == (VerdictWord.REPLICATED_IN_DIRECTION, "weaker")


def test_every_claim_is_judged_and_the_first_is_the_headline() -> None:
    other = replace(
        STUDY.claims[0],
        name="faster",
        published=printed(1.5),
        published_windows=None,
    )
    study = replace(STUDY, claims=(STUDY.claims[0], other))
    verdict = judge(study, blocks_of(study, STEADY))
    assert [claim.word for claim in verdict.claims] == [VerdictWord.REPLICATED, VerdictWord.CONTRADICTED]
    assert verdict.headline.claim == "held-is-slower"


def test_a_control_of_a_reference_value_need_not_have_the_measure() -> None:
    """As in query-identity: without query ids the control has none to count, and the published figure stands for it."""
    claim = replace(STUDY.claims[0], measure="query_ids", reference_value=7.0, published=printed(1.0), tail_s=None)
    study = replace(STUDY, claims=(replace(claim, mechanisms=()),))
    measured = {"free": {"query_ids": 0.0}, "held": {"query_ids": 7.0}}
    for counters in (measured, {**measured, "free": {}}):
        trials = tuple(replace(one, counters=counters[one.spec.arm]) for one in blocks_of(study, STEADY))
        verdict = judge(study, trials).headline
        assert (verdict.word, len(verdict.blocks)) == (VerdictWord.REPLICATED, 5), verdict.reasons
    none = tuple(replace(one, counters={"query_ids": 0.0}) for one in trials)
    assert judge(study, none).headline.word is VerdictWord.INCONCLUSIVE


def test_a_trial_that_was_pruned_bounds_a_value_and_is_none() -> None:
    trials = list(blocks_of(STUDY, STEADY))
    trials[1] = replace(trials[1], outcome=TrialOutcome.PRUNED)
    claim = judge(STUDY, tuple(trials)).headline
    assert len(claim.blocks) == len(STEADY) - 1


def test_hosts_that_differ_are_a_doubt_and_equal_ones_are_not() -> None:
    here = run_info().machine
    trials = tuple(replace(one, machine=here) for one in blocks_of(STUDY, STEADY))
    assert DoubtKind.DIFFERENT_MACHINE not in {doubt.kind for doubt in judge(STUDY, trials).doubts}
    other = replace(here, cores=64)
    mixed = tuple(replace(one, machine=other if one.spec.block == 2 else here) for one in trials)
    assert DoubtKind.DIFFERENT_MACHINE in {doubt.kind for doubt in judge(STUDY, mixed).doubts}
