"""Transactions that are long for their window: what they lose is measured, and such a block is no evidence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import global_counters, histogram, load_result, trial
from pgclinic.judge.lost_work import lost_blocks, lost_share, windows_too_short, without_lost_work
from pgclinic.model.doubt import DoubtKind, WorkLost
from pgclinic.model.load import LoadResult, WindowsResult
from pgclinic.model.trial import TrialRecord


def load(count: int, mean_us: float, overrun_us: int = 0, overran: int = 0) -> LoadResult:
    """One client, 9 s counted in windows of a second with 0.1 s guard."""
    windows = WindowsResult(
        each=(),
        guard_s=0.1,
        span_s=20.0,
        loaded_s=10.0,
        overran=overran,
        overrun_us_sum=overrun_us * overran,
        uncounted=overran,
    )
    latency = replace(histogram(count, mean_us), mean_us=mean_us, p99_us=round(mean_us))
    return replace(load_result([1.0]), clients=1, measured_s=9.0, transactions=count, latency=latency, windows=windows)


def in_block(number: int, block: int, arm: str, result: LoadResult) -> TrialRecord:
    return replace(trial(global_counters(), number, block, arm, [1.0]), load=result)


def test_a_transaction_shorter_than_the_guard_loses_nothing() -> None:
    assert lost_share(load(100, 50_000.0, overrun_us=25_000, overran=10)) == 0.0
    assert lost_share(replace(load(10, 600_000.0), windows=None)) == 0.0, "sequential blocks have no windows"


def test_what_outlasts_its_window_is_lost() -> None:
    # One transaction of 0.6 s for each window of 0.9 s; the second one never ends in it.
    assert lost_share(load(10, 600_000.0, overrun_us=200_000, overran=10)) == pytest.approx(1 / 3)
    # What began in the guard counts whole: here two of 0.46 s for each window of 0.833 s.
    assert lost_share(load(22, 455_000.0, overrun_us=200_000, overran=1)) == pytest.approx(0.112, abs=0.001)
    assert lost_share(load(0, 0.0, overrun_us=8_000, overran=12)) == 1.0, "an arm that counted nothing"
    mixed = load(100, 1_000.0, overrun_us=1_500_000, overran=10)
    assert lost_share(mixed) > 0.9, "long ones that never count are seen by how late they end"


@pytest.mark.parametrize(("count", "is_lost"), [(44, False), (43, True)])
def test_a_block_is_dropped_above_three_per_cent_alone(count: int, is_lost: bool) -> None:
    # 44 x 0.2 s are 97.8 % of 9 s, 43 are 95.6 %.
    records = [in_block(1, 1, "held", load(count, 200_000.0)), in_block(2, 1, "free", load(45, 200_000.0))]
    again = in_block(3, 1, "held", replace(load(15, 600_000.0), windows=None))
    assert lost_blocks(records) == (frozenset({1}) if is_lost else frozenset())
    kept = without_lost_work([*records, again])
    assert kept == ((again,) if is_lost else (*records, again)), "both arms go, the sequential repetition stays"


def test_what_was_dropped_is_a_doubt_about_the_run() -> None:
    lost = [in_block(1, 1, "held", load(10, 600_000.0)), in_block(2, 1, "free", load(45, 200_000.0))]
    (doubt,) = windows_too_short(lost)
    assert doubt.kind is DoubtKind.WINDOWS_TOO_SHORT
    assert doubt.facts == WorkLost(blocks=1)
    assert doubt.share == pytest.approx(1 / 3)
    assert windows_too_short([in_block(1, 1, "held", load(45, 200_000.0))]) == ()
