"""Which interval a claim gets: from block to block, of a settled number of blocks, or exact for few events."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, trial
from pgclinic.model.study import Claim, PublishedRatio, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import IntervalMethod
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.student_t import t_half_width
from pgclinic.stats.summary import mean, standard_deviation

STUDY = global_counters()
QUICK = STUDY.profiles["quick"]
FIXED = replace(QUICK, blocks_min=5, blocks_max=5)
RATIOS = (0.60, 0.66, 0.55, 0.62, 0.58)


def counted(*pairs: tuple[int, int], seconds: int = 10) -> tuple[TrialRecord, ...]:
    """One block a pair of commits of (free, held), the same in every second but the first."""
    trials = []
    for block, (free, held) in enumerate(pairs, start=1):
        for offset, (arm, commits) in enumerate((("free", free), ("held", held))):
            series = [commits % seconds + commits // seconds, *[commits // seconds] * (seconds - 1)]
            pages = 3 if arm == "free" else 300
            trials.append(trial(STUDY, 2 * block - 1 + offset, block, arm, series, pages=pages, hits=float(pages)))
    return tuple(trials)


def whole_trials(study: Study) -> Study:
    claim: Claim = replace(study.claims[0], tail_s=None, published_windows=None)
    return replace(study, claims=(claim,))


def test_a_settled_number_of_blocks_gives_the_plain_t_interval() -> None:
    interval = judge(STUDY, blocks_of(STUDY, RATIOS), FIXED).headline.interval
    assert interval is not None
    assert interval.method is IntervalMethod.FIXED_BLOCKS
    assert interval.low is not None and interval.high is not None
    logs = [math.log(ratio) for ratio in RATIOS]
    # Three blocks ran held later and two ran it earlier: both orders weigh the same.
    centre = (mean(logs[::2]) + mean(logs[1::2])) / 2
    half = t_half_width(5, standard_deviation(logs)) * math.sqrt(5 / 4 * (1 / 3 + 1 / 2))
    assert (interval.low, interval.high) == pytest.approx((math.exp(centre - half), math.exp(centre + half)), rel=1e-3)


@pytest.mark.parametrize("order_effect", [0.0, 0.1])
def test_an_effect_of_the_order_does_not_move_the_ratio(order_effect: float) -> None:
    """The later trial of each block is 10 % slower; three of five blocks run the held arm later."""
    ratios = [0.6 * (1 - order_effect) ** (1 if block % 2 else -1) for block in range(1, 6)]
    interval = judge(STUDY, blocks_of(STUDY, ratios, control_tps=1e6), FIXED).headline.interval
    assert interval is not None
    assert interval.ratio == pytest.approx(0.6, rel=1e-4)


@pytest.mark.parametrize("profile", [None, QUICK])
def test_without_one_only_the_always_valid_interval_holds_and_it_is_wider(profile: object) -> None:
    fixed = judge(STUDY, blocks_of(STUDY, RATIOS), FIXED).headline.interval
    looked = judge(STUDY, blocks_of(STUDY, RATIOS), profile).headline.interval  # type: ignore[arg-type]
    assert fixed is not None and looked is not None
    assert looked.method is IntervalMethod.ALWAYS_VALID
    assert looked.low is not None and fixed.low is not None and looked.low < fixed.low


def test_a_run_that_lost_a_block_falls_back_to_the_always_valid_interval() -> None:
    interval = judge(STUDY, blocks_of(STUDY, RATIOS)[:-2], FIXED).headline.interval
    assert interval is not None
    assert interval.method is IntervalMethod.ALWAYS_VALID


def test_few_events_are_counted_over_all_blocks() -> None:
    study = whole_trials(STUDY)
    verdict = judge(study, counted((4000, 3), (4000, 3), (4000, 3)), FIXED)
    interval = verdict.headline.interval
    assert interval is not None
    assert interval.method is IntervalMethod.COUNTS
    assert interval.ratio == pytest.approx(9 / 12000)
    assert interval.low is not None and interval.high is not None
    # Garwood's limits for 9 events are 4.12 and 17.08; the control's own count hardly adds to them.
    assert interval.low * 12000 == pytest.approx(3.3, rel=0.1)
    assert 17.0 < interval.high * 12000 < 22.0
    assert verdict.headline.word is VerdictWord.REPLICATED_IN_DIRECTION


def test_counts_that_vary_more_than_chance_explains_have_wider_limits() -> None:
    study = whole_trials(STUDY)
    even, uneven = (
        judge(study, counted(*((4000, held) for held in counts)), FIXED).headline.interval
        for counts in ((4, 4, 4, 4, 4), (0, 15, 0, 5, 0))
    )
    assert even is not None and uneven is not None
    assert (even.method, uneven.method) == (IntervalMethod.COUNTS, IntervalMethod.COUNTS)
    assert uneven.ratio == even.ratio
    assert uneven.low is not None and even.low is not None and uneven.high is not None and even.high is not None
    assert uneven.low < even.low / 3
    assert uneven.high > even.high * 3


def test_one_stalled_trial_does_not_make_counts_of_all_the_others() -> None:
    """Twelve equal blocks, one trial without a commit: exact limits of the sums said "slower"."""
    study = whole_trials(STUDY)
    trials = counted(*[(10_000, 10_000)] * 11, (10_000, 0))
    verdict = judge(study, trials)
    interval = verdict.headline.interval
    assert interval is not None
    assert interval.method is IntervalMethod.ALWAYS_VALID
    assert interval.low is not None and interval.high is not None
    assert interval.low < 0.6
    assert interval.high > 1.0, "it widens the interval"
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE


@pytest.mark.parametrize(("each", "method"), [(5, IntervalMethod.COUNTS), (6, IntervalMethod.FIXED_BLOCKS)])
def test_the_total_of_an_arm_decides_between_counts_and_logarithms(each: int, method: IntervalMethod) -> None:
    interval = judge(whole_trials(STUDY), counted(*[(4000, each)] * 5), FIXED).headline.interval
    assert interval is not None
    assert interval.method is method


def test_no_event_at_all_still_bounds_the_ratio_from_above() -> None:
    study = whole_trials(STUDY)
    interval = judge(study, counted((4000, 0), (4000, 0)), None).headline.interval
    assert interval is not None
    assert interval.low == 0.0
    assert interval.high is not None
    assert 0 < interval.ratio < interval.high < 0.001


def test_without_an_event_of_the_control_nothing_is_bounded() -> None:
    study = whole_trials(STUDY)
    verdict = judge(study, counted((0, 5), (0, 4))).headline
    assert verdict.interval is not None
    assert verdict.interval.high is None
    assert verdict.word is VerdictWord.INCONCLUSIVE


def test_whole_trials_of_different_length_compare_by_the_second() -> None:
    study = whole_trials(STUDY)
    trials = []
    for block in range(1, 6):
        trials.append(trial(study, 2 * block - 1, block, "free", [1000.0] * 8, pages=3, hits=3.0))
        trials.append(trial(study, 2 * block, block, "held", [600.0] * 25, pages=300, hits=300.0))
    interval = judge(study, tuple(trials), FIXED).headline.interval
    assert interval is not None
    assert interval.ratio == pytest.approx(0.6)


def test_each_of_the_sources_own_figures_is_held_against_the_measurement() -> None:
    others = (PublishedRatio(ratio=0.6, text="the chart"), PublishedRatio(ratio=0.1, text="the text"))
    study = replace(STUDY, claims=(replace(STUDY.claims[0], published_others=others),))
    seen = judge(study, blocks_of(study, RATIOS)).headline.published_others
    assert [(one.text, one.supported, one.nearest) for one in seen] == [
        ("the chart", True, True),
        ("the text", False, False),
    ]
    assert judge(study, ()).headline.published_others == ()
