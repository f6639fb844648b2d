"""Change points of a series: found where a step is, seldom where there is only noise."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Sequence

import pytest

from pgclinic.errors import UsageError
from pgclinic.stats.change_points import P_VALUE_MAX, RUNS_MIN, change_points


def noisy(means: Sequence[float], seed: int, spread: float = 0.02) -> list[float]:
    draw = random.Random(seed)
    return [mean * draw.gauss(1, spread) for mean in means]


def test_noise_has_a_change_point_in_few_series() -> None:
    assert sum(bool(change_points(noisy([1000.0] * 12, seed))) for seed in range(20)) <= 1
    # The place is searched for: that costs more false alarms than p is; the guide says how many.
    false_alarms = sum(bool(change_points(noisy([1000.0] * 12, seed))) for seed in range(300)) / 300
    assert P_VALUE_MAX < false_alarms < 0.05


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_step_is_found_where_it_is(factor: float) -> None:
    right = 0
    for seed in range(40):
        values = noisy([1000.0] * 7 + [1000.0 * factor] * 5, seed)
        found = change_points(values)
        assert found, values
        right += [point.index for point in found] == [7]
        nearest = min(found, key=lambda point: abs(point.index - 7))
        if nearest.index == 7 and len(found) == 1:
            assert nearest.before == pytest.approx(sum(values[:7]) / 7)
            assert nearest.after == pytest.approx(sum(values[7:]) / 5)
            assert 0 <= nearest.p_value < P_VALUE_MAX
    assert right >= 36


def test_two_steps_and_one_at_the_newest_value() -> None:
    back = change_points(noisy([1000.0] * 8 + [800.0] * 8 + [1000.0] * 8, seed=3))
    assert [point.index for point in back] == [8, 16]
    assert [point.index for point in change_points(noisy([1000.0] * 9 + [700.0], seed=1))] == [9]


def test_a_change_does_not_hide_the_one_that_undoes_it() -> None:
    for seed in range(20):
        found = [point.index for point in change_points(noisy([1000.0] * 6 + [800.0] * 6 + [1000.0] * 6, seed))]
        assert {6, 12} <= set(found)


def test_fewer_values_than_the_method_needs_have_no_change_point() -> None:
    for amount in (0, 1, 3, RUNS_MIN - 1):
        assert change_points(([1000.0] * 3 + [10.0] * 3)[:amount]) == ()
    assert change_points(noisy([1000.0] * 3 + [800.0] * 3, seed=0)) != ()


def test_values_that_do_not_vary_are_judged_by_their_order() -> None:
    assert change_points([5.0] * 12) == ()
    # One of eight that differs is the last one by chance in an eighth of all orders; the t test has a p of 0.
    assert change_points([2.0] * 7 + [3.0]) == ()
    (step,) = change_points([2.0] * 8 + [5.0] * 8)
    assert (step.index, step.before, step.after) == (8, 2.0, 5.0)
    assert step.p_value == pytest.approx(2 / 12870)


def test_nothing_is_logged_or_printed_and_no_array_comes_out(capfd: pytest.CaptureFixture[str]) -> None:
    handlers = list(logging.root.handlers)
    (step,) = change_points([2.0] * 8 + [5.0] * 8)
    assert [type(value) for value in (step.index, step.before, step.after, step.p_value)] == [int, float, float, float]
    assert logging.root.handlers == handlers
    assert capfd.readouterr() == ("", "")


def test_a_missing_library_is_named_with_the_extra_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otava.analysis", None)
    with pytest.raises(UsageError, match="needs Apache Otava") as raised:
        change_points([1.0])
    assert raised.value.hint == "pip install 'pgclinic[history]'"
