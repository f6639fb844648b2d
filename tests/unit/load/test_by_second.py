"""Seconds of a load in the time of its trial: the same in a sequential one, with pauses in an interleaved one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import load_result
from pgclinic.load.by_second import elapsed_at, full_seconds
from pgclinic.model.load import LoadResult, WindowResult, WindowsResult

PLAIN = load_result([100.0] * 3)


def window(number: int, at_s: float, counted_s: float) -> WindowResult:
    return WindowResult(
        number=number,
        at_s=at_s,
        counted_s=counted_s,
        transactions=1,
        failed=0,
        rolled_back=0,
        statements=1,
        guarded=0,
        overran=0,
        overrun_us_max=0,
    )


def alternating(*windows: WindowResult) -> LoadResult:
    ran = WindowsResult(each=windows, guard_s=0.1, span_s=6.0, loaded_s=3.0, overran=0, overrun_us_sum=0, uncounted=0)
    return replace(PLAIN, windows=ran)


@pytest.mark.parametrize("second", [0.0, 1.5, 3.0])
def test_a_sequential_load_counts_all_the_time(second: float) -> None:
    assert elapsed_at(PLAIN, second) == second


def test_an_interleaved_load_stands_still_between_windows() -> None:
    load = alternating(window(0, 0.1, 0.9), window(1, 2.1, 0.9), window(2, 4.1, 0.9))
    assert [elapsed_at(load, counted) for counted in (0.0, 0.5, 0.9, 1.4, 2.7)] == pytest.approx(
        [0.1, 0.6, 2.1, 2.6, 5.0]
    )
    # What was counted behind the last window lies right behind it.
    assert elapsed_at(load, 3.0) == pytest.approx(5.3)
    assert elapsed_at(alternating(), 2.0) == 2.0


def test_a_second_that_the_end_shortened_is_not_full() -> None:
    assert full_seconds(replace(PLAIN, measured_s=2.7)) == 2
    assert full_seconds(replace(PLAIN, measured_s=2.995)) == 3
