"""What must hold for e-values, trends, slopes, calibration and warm-up whatever the numbers."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fixtures.reached import assert_reached
from fixtures.records import global_counters, trial
from pgclinic.judge.calibration import calibration_of
from pgclinic.model.calibration import Calibration, RefusalKind
from pgclinic.stats.autocorrelation import correlation_time
from pgclinic.stats.calibration import best_slice, blocks_in_budget, shows_no_effect, slice_noises, smallest_effect
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.e_values import false_discoveries_held, log_e_value
from pgclinic.stats.page_trend_test import log_trend_e_value, page_trend
from pgclinic.stats.slope import theil_sen
from pgclinic.stats.warm_up import cut_by_state, mser_cut

effects = st.floats(-2.0, 2.0, allow_nan=False)
#: Around one centre, closely or not: intervals that hold a point and intervals that do not.
values = st.one_of(
    st.lists(effects, min_size=2, max_size=30),
    st.builds(
        lambda centre, spread, offs: [centre + spread * off for off in offs],
        effects,
        st.sampled_from([0.01, 0.1]),
        st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=30),
    ),
)
logs = st.one_of(
    st.lists(st.floats(-5.0, 12.0), min_size=0, max_size=12), st.lists(st.floats(-5.0, 2.5), min_size=1, max_size=4)
)
tps = st.floats(0.1, 1e5)
block = st.lists(st.integers(0, 6), min_size=4, max_size=4)
sweep = st.lists(block, min_size=1, max_size=5)
series_of_tps = st.one_of(
    st.lists(st.floats(0, 1e5), min_size=0, max_size=150),
    st.lists(st.floats(990.0, 1010.0), min_size=20, max_size=80),
)
STUDY = global_counters()


def steady_rows(level: int, width: int, turns: list[float], seconds: int) -> list[list[int]]:
    """Trials whose levels differ by ``turns``; their seconds go up and down by ``width``."""
    return [[round(level * turn) + (width if at * at % 7 < 3 else -width) for at in range(seconds)] for turn in turns]


rows_of_trials = st.one_of(
    # A server that ends two transactions a second or fewer.
    st.lists(st.lists(st.integers(0, 2), min_size=14, max_size=30), min_size=4, max_size=6),
    st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=30), min_size=0, max_size=6),
    st.builds(
        steady_rows,
        st.sampled_from([10_000, 2000]),
        st.sampled_from([20, 100, 1000]),
        st.sampled_from([[1.0] * 6, [1.0, 0.5] * 3, [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]]),
        st.integers(14, 30),
    ),
)
calibrations = st.builds(
    lambda rows, budget_s, block_s: calibration_of(
        STUDY.claims,
        [trial(STUDY, number, 1, "free", row) for number, row in enumerate(rows, start=1)],
        budget_s=budget_s,
        block_s=block_s,
    ),
    rows_of_trials,
    st.floats(1, 2000),
    st.sampled_from([None, 3.0, 40.0]),
)


@pytest.mark.drawn(0.2)
def test_the_examples_reach_both_sides() -> None:
    evident = st.tuples(values, effects).map(lambda drawn: log_e_value(drawn[0], ((drawn[1], drawn[1]),)))
    assert_reached(evident, lambda evidence: evidence > math.log(20), (True, False))
    assert_reached(logs, lambda drawn: any(false_discoveries_held(drawn)), (True, False))
    assert_reached(logs.filter(bool), lambda drawn: all(false_discoveries_held(drawn)), (True, False))
    assert_reached(sweep, lambda blocks: page_trend(blocks).p_value <= 0.05, (True, False))
    assert_reached(series_of_tps, lambda drawn: cut_by_state(drawn).settled, (True, False))
    precision = st.tuples(st.floats(0.001, 0.5), st.integers(5, 200))
    assert_reached(precision, lambda drawn: shows_no_effect(*drawn), (True, False))
    assert_reached(calibrations, lambda calibration: calibration.planned is not None, (True, False))
    refusals = {*RefusalKind, None} - {RefusalKind.STARVED_CPU}
    assert_reached(
        calibrations,
        lambda calibration: calibration.refusal and calibration.refusal.kind,
        refusals,
        examples=600,
        least=1,
    )


@example(drawn=[9.4e-238] * 5, point=0.0)
@given(values, effects)
def test_evidence_of_one_in_twenty_is_the_interval(drawn: list[float], point: float) -> None:
    low, high = always_valid_interval(drawn)
    evidence = log_e_value(drawn, ((point, point),))
    assume(abs(evidence - math.log(20)) > 1e-6)
    assert (evidence > math.log(20)) == (not low <= point <= high)


@given(values, effects, st.floats(0.0, 2.0))
def test_a_wider_hypothesis_is_harder_to_reject(drawn: list[float], low: float, width: float) -> None:
    assert log_e_value(drawn, ((low, low + width),)) <= log_e_value(drawn, ((low, low),)) + 1e-12


@given(values, effects, st.floats(0.01, 100))
def test_evidence_knows_no_unit_and_no_origin(drawn: list[float], shift: float, scale: float) -> None:
    # Values that differ in their last digits only lose their spread in the shift.
    assume(max(drawn) - min(drawn) > 1e-3)
    moved = [value * scale + shift for value in drawn]
    expected = log_e_value(drawn, ((0.5, 0.5),))
    assert log_e_value(moved, ((0.5 * scale + shift,) * 2,)) == pytest.approx(expected, abs=1e-5)


@given(logs, st.integers(0, 11), st.floats(0.0, 5.0))
def test_more_evidence_never_takes_a_rejection_back(drawn: list[float], index: int, more: float) -> None:
    assume(index < len(drawn))
    before = false_discoveries_held(drawn)
    stronger = [value + more if at == index else value for at, value in enumerate(drawn)]
    after = false_discoveries_held(stronger)
    assert all(now or not then for then, now in zip(before, after, strict=True))


@given(logs)
def test_what_is_rejected_has_the_larger_e_values(drawn: list[float]) -> None:
    rejected = false_discoveries_held(drawn)
    kept = [value for value, said in zip(drawn, rejected, strict=True) if not said]
    gone = [value for value, said in zip(drawn, rejected, strict=True) if said]
    assert not gone or not kept or min(gone) > max(kept)
    assert not gone or min(gone) >= math.log(len(drawn) / (len(gone) * 0.05)) - 1e-9


@given(sweep)
def test_a_trend_depends_on_ranks_alone(blocks: list[list[int]]) -> None:
    stretched = [[math.exp(value) * 3.0 + index for value in row] for index, row in enumerate(blocks)]
    assert page_trend(stretched) == page_trend(blocks)
    assert 0.0 < page_trend(blocks).p_value <= 1.0


@given(sweep)
def test_rise_and_fall_mirror_each_other(blocks: list[list[int]]) -> None:
    backwards = [row[::-1] for row in blocks]
    assert page_trend(blocks, -1).p_value == pytest.approx(page_trend(backwards, 1).p_value)
    assert log_trend_e_value(blocks, -1) == pytest.approx(log_trend_e_value(backwards, 1), abs=1e-9)
    up, down = page_trend(blocks, 1), page_trend(blocks, -1)
    assert up.p_value + down.p_value >= 1.0 - 1e-9, "both count what was seen itself"


@settings(max_examples=30, deadline=None)
@given(block)
def test_the_bank_of_a_trend_is_fair_for_every_pattern_of_ties(row: list[int]) -> None:
    paid = [math.exp(log_trend_e_value([list(order)])) for order in itertools.permutations(row)]
    assert sum(paid) / len(paid) == pytest.approx(1.0)


@given(st.lists(effects, min_size=3, max_size=15), effects, st.floats(-5, 5))
def test_theil_sen_follows_a_line_that_is_added(drawn: list[float], origin: float, slope: float) -> None:
    x = [float(index) for index in range(len(drawn))]
    tilted = [value + origin + slope * at for at, value in zip(x, drawn, strict=True)]
    assert theil_sen(x, tilted) == pytest.approx(theil_sen(x, drawn) + slope, abs=1e-9)


@given(st.lists(tps, min_size=20, max_size=60), st.floats(0.01, 100), st.floats(0.0, 20.0))
def test_noise_knows_no_unit(series: list[float], scale: float, switch_s: float) -> None:
    seen = slice_noises([series], switch_s)
    scaled = slice_noises([[value * scale for value in series]], switch_s)
    assert [noise.deviation for noise in scaled] == pytest.approx([noise.deviation for noise in seen], abs=1e-6)


@given(st.lists(tps, min_size=20, max_size=60), st.floats(0.0, 20.0), st.floats(10, 1000))
def test_the_slice_chosen_fits_the_budget(series: list[float], switch_s: float, budget_s: float) -> None:
    noises = slice_noises([series], switch_s)
    best = best_slice(noises, budget_s, 5)
    if best is None:
        assert not noises or blocks_in_budget(2 + switch_s, budget_s) < 5
    else:
        assert 5 * best.pair_s <= budget_s + 1e-6


@given(st.floats(0.001, 0.5), st.integers(5, 200))
def test_more_blocks_tell_more(deviation: float, blocks: int) -> None:
    assert smallest_effect(deviation, blocks + 1) < smallest_effect(deviation, blocks)
    assert shows_no_effect(deviation, blocks + 1) or not shows_no_effect(deviation, blocks)


@given(series_of_tps)
def test_warm_up_never_takes_more_than_there_is(series: list[float]) -> None:
    cut = cut_by_state(series)
    assert 0 <= cut.cut_s <= min(60, len(series))
    mser = mser_cut(series)
    assert mser is None or 0 <= mser <= len(series) / 2


@given(st.lists(effects, min_size=2, max_size=100))
def test_a_value_is_worth_at_most_itself(drawn: list[float]) -> None:
    assert correlation_time(drawn) >= 1.0


@settings(max_examples=60)
@given(calibrations)
def test_a_calibration_always_ends_with_a_word(calibration: Calibration) -> None:
    assert (calibration.planned is None) == (
        calibration.refusal is not None
        and calibration.refusal.kind not in {RefusalKind.CANNOT_BE_RESOLVED, RefusalKind.ARMS_DIFFER}
    )
    if calibration.planned is not None:
        assert calibration.blocks >= 5
        assert len(calibration.claims) == len(STUDY.claims)
