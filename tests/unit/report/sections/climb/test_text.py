"""The climb of a search on the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.model.tuning import Aim, AttemptOutcome, SearchStep
from pgclinic.report.sections.climb.text import bar, climb_line

RATIOS = st.floats(1e-9, 1e3)


def step(ratio: float, **more: object) -> SearchStep:
    return SearchStep(trial=4, outcome=AttemptOutcome.DONE, accepted=True, best_ratio=ratio, spent_s=252.0, **more)


def test_a_step_says_when_what_and_how_far() -> None:
    line = climb_line(step(0.0123, added={"random_page_cost": "1e300"}), 2, Aim.WORST)
    assert line.split() == ["4:12", "2", "+", "random_page_cost", "=", "1e300", "81x", "slower", "█" * 11 + "▍"]


def test_what_was_taken_out_has_a_minus() -> None:
    line = climb_line(step(1.5, removed=("work_mem",)), 3, Aim.BEST)
    assert "- work_mem" in line
    assert "1.50x faster" in line or "1.5x faster" in line


def test_long_groups_are_cut() -> None:
    added = {f"a_setting_of_a_long_name_{number}": "on" for number in range(8)}
    assert len(climb_line(step(1e-8, added=added), 100, Aim.WORST)) <= 120


@given(RATIOS, RATIOS)
def test_a_bar_is_longer_the_further_from_one(one: float, other: float) -> None:
    near, far = sorted((one, other), key=lambda ratio: max(ratio, 1 / ratio))
    assert len(bar(near, 6.0)) <= len(bar(far, 6.0)) <= 41


def test_no_difference_has_no_bar() -> None:
    assert bar(1.0, 40.0) == ""
