"""The staircase's geometry: one step an arm, heights by the logarithm, no figure upon another."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.ladder import ARMS, NAMES, NOTHING, REFUSED, arm_seen, arms_seen, ladder_study, ladder_verdict
from pgclinic.model.verdict import ArmSeen
from pgclinic.report.sections.ladder.picture import Staircase, staircase
from pgclinic.report.sections.ladder.steps import ladder_steps

STUDY = ladder_study()


def drawn(arms: tuple[ArmSeen, ...] | None = None) -> Staircase:
    picture = staircase(ladder_steps(STUDY, ladder_verdict(arms)))
    assert picture is not None
    return picture


def test_one_step_an_arm_from_side_to_side() -> None:
    picture = drawn()
    assert [step.name for step in picture.steps] == list(NAMES)
    treads = [step.measured for step in picture.steps if step.measured is not None]
    assert len(treads) == len(NAMES)
    assert (treads[0].left, treads[-1].right) == (0.0, 100.0)
    assert all(one.right == pytest.approx(other.left) for one, other in itertools.pairwise(treads))


def test_heights_follow_the_logarithm() -> None:
    picture = drawn()
    by_text = {line.text: line.y for line in picture.grid}
    assert list(by_text) == ["10,000", "1,000", "100", "10", "1", "0.1", "0.01"]
    decade = by_text["100"] - by_text["1,000"]
    for step, (_, tps, _, _) in zip(picture.steps, ARMS, strict=True):
        assert step.published is not None
        assert tps is not None
        assert step.published.y == pytest.approx(by_text["1"] - math.log10(tps) * decade, abs=0.2)


@given(st.lists(st.floats(1e-4, 1e6), min_size=1, max_size=9), st.lists(st.floats(1e-4, 1e6), min_size=9, max_size=9))
def test_more_is_higher_and_everything_is_inside(published: list[float], measured: list[float]) -> None:
    arms = tuple(
        arm_seen(
            0,
            arm=f"arm {index}",
            published_tps=one,
            published_text=None,
            tps=measured[index],
            tps_low=measured[index] / 2,
            tps_high=measured[index] * 2,
        )
        for index, one in enumerate(published)
    )
    picture = drawn(arms)
    steps = [step.measured for step in picture.steps if step.measured is not None]
    ranked = sorted(range(len(steps)), key=lambda index: measured[index])
    heights = [steps[index].y for index in ranked]
    assert heights == sorted(heights, reverse=True)
    for step in picture.steps:
        assert step.published is not None
        assert step.measured is not None
        assert step.measured.bar is not None
        for y in (step.published.y, step.measured.y, *step.measured.bar):
            assert 0 < y < picture.bottom
        texts = (step.published.text_y, step.measured.text_y)
        assert abs(texts[0] - texts[1]) >= 20
        assert min(texts) > 10
        assert max(texts) < picture.bottom


def test_zero_and_missing_values_leave_their_place_empty() -> None:
    arms = (*arms_seen()[:4], arm_seen(4, published_tps=None), REFUSED, NOTHING)
    picture = drawn(arms)
    wal, planner, io = picture.steps[4:]
    assert wal.published is None
    assert (planner.measured, planner.refusal) == (None, "FATAL: no such value")
    assert planner.published is not None
    assert planner.published.riser is None
    assert io.measured is not None
    assert io.measured.open
    assert io.measured.bar is None
    assert io.measured.riser is None
    assert "io: published 0.016, here at most 0.061" in picture.description


def test_an_interval_down_to_nothing_ends_with_the_axis() -> None:
    picture = drawn((*arms_seen()[:6], arm_seen(6, tps_low=0.0)))
    last = picture.steps[6].measured
    assert last is not None
    assert last.bar is not None
    assert last.bar[1] == picture.grid[-1].y


def test_nothing_to_draw() -> None:
    empty = tuple(
        replace(arm, published_tps=None, trials=0, commits=0, tps=0.0, tps_low=None, tps_high=None)
        for arm in arms_seen()
    )
    assert staircase(ladder_steps(STUDY, ladder_verdict(empty))) is None


def test_a_long_name_is_cut_and_told_whole() -> None:
    name = "a-very-long-name-of-an-arm-that-no-step-can-hold"
    (step,) = drawn((arm_seen(0, arm=name),)).steps
    assert len(step.name) < 26
    assert step.name.endswith("…")
    assert step.full_name == name
