"""Transactions that are long for their window: what they lose is measured, and such a block is no evidence."""

from __future__ import annotations

import math
import random

import pytest
from msgspec.structs import replace

from fixtures.records import global_counters, histogram, load_result, trial
from pgclinic.experiment.window_length import window_length
from pgclinic.judge.evidence import gather
from pgclinic.judge.lost_work import lost_runs, lost_share, windows_too_short, without_lost_work, worked_share
from pgclinic.model.doubt import DoubtKind, WorkLost
from pgclinic.model.load import LoadResult, WindowsResult
from pgclinic.model.trial import TrialRecord
from pgclinic.trial.window_plan import GUARD_S, WINDOW_S, plan_windows


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
    assert lost_runs(records) == ((tuple(records),) if is_lost else ())
    kept = without_lost_work([*records, again])
    assert kept == ((again,) if is_lost else (*records, again)), "both arms go, the sequential repetition stays"


def test_what_ran_again_in_longer_windows_stays() -> None:
    lost = [in_block(1, 1, "held", load(10, 600_000.0)), in_block(2, 1, "free", load(45, 200_000.0))]
    longer = [in_block(3, 1, "free", load(45, 200_000.0)), in_block(4, 1, "held", load(15, 600_000.0))]
    assert lost_runs([*lost, *longer]) == (tuple(lost),)
    assert without_lost_work([*lost, *longer]) == tuple(longer)


def p90(result: LoadResult, us: int) -> LoadResult:
    return replace(result, latency=replace(result.latency, p90_us=us))


def test_windows_follow_the_slowest_tenth() -> None:
    def length(*results: LoadResult) -> float | None:
        records = [in_block(number, 1 + number // 2, "held", result) for number, result in enumerate(results)]
        return window_length(records, usual_s=1.0, longest_s=5.0)

    slow, fast = replace(load(45, 200_000.0), windows=None), replace(load(100, 1_000.0), windows=None)
    assert length() == 1.0
    assert length(p90(fast, 2_000), p90(fast, 40_000)) == 1.0
    assert length(p90(fast, 2_000), p90(slow, 220_000)) == pytest.approx(20 * 0.22 + GUARD_S)
    assert length(p90(slow, 300_000)) == 1.0, "no window is long enough, and nothing was lost so far"
    lost = p90(load(43, 200_000.0), 210_000)
    assert length(lost) == pytest.approx(20 * 0.21 + GUARD_S), "a block was lost, and longer windows fit"
    assert length(p90(load(43, 200_000.0), 260_000)) is None, "a block was lost, and they do not fit"
    assert length(load(0, 0.0)) is None, "an arm that ended nothing is as slow as anything"
    assert length(lost, p90(fast, 2_000), lost) is None, "longer windows lost work as well"


def test_the_guard_takes_away_that_all_clients_begin_together() -> None:
    """A closed loop from a standing start: what is under way as counting begins makes up for what its end cuts off."""
    draw = random.Random(3)
    counted, seconds = 0.0, 0.0
    for _ in range(4_000):
        latency_s = draw.uniform(0.04, 0.08)
        (window,) = plan_windows(("a", "b"), warm_up_s=0.0, measure_s=1.0, window_s=WINDOW_S, guard_s=GUARD_S, seed=1)[
            :1
        ]
        ends = [latency_s * number for number in range(1, 60)]
        counted += latency_s * sum(window.counts_from_s <= end <= window.end_s for end in ends)
        seconds += window.end_s - window.counts_from_s
    assert counted / seconds == pytest.approx(1.0, abs=0.01)


def in_step(latency_s: float, *, windows: int = 7, window_s: float = 0.84) -> LoadResult:
    """One client whose transactions all last as long, and which begins anew in each window."""
    ends = [latency_s * number for number in range(1, 1 + round(window_s / latency_s) + 1)]
    counted = sum(GUARD_S <= end <= window_s for end in ends) * windows
    result = load(counted, latency_s * 1e6)
    return replace(result, measured_s=(window_s - GUARD_S) * windows)


@pytest.mark.parametrize(("a_s", "b_s"), [(0.03, 0.04), (0.0301, 0.0401), (0.012, 0.016), (0.02, 0.02), (0.04, 0.01)])
def test_transactions_that_keep_step_with_their_windows_bias_no_ratio(a_s: float, b_s: float) -> None:
    trials = [in_block(1, 1, "free", in_step(a_s)), in_block(2, 1, "held", in_step(b_s))]
    assert lost_runs(trials) == ()
    question = replace(global_counters().questions[0], tail_s=None)
    (pair,) = gather(question, trials).pairs
    assert math.exp(pair.log_ratio) == pytest.approx(a_s / b_s, rel=0.001)


@pytest.mark.parametrize(("a_s", "b_s"), [(0.15, 0.2), (0.03, 0.04), (0.31, 0.59)])
def test_sequential_trials_of_transactions_of_one_length_bias_no_ratio(a_s: float, b_s: float) -> None:
    """Of 8 s: 53 transactions of 0.15 s and 40 of 0.2 s, in every block."""
    whole = [
        replace(load(4 * int(8.0 / each_s), each_s * 1e6), windows=None, clients=4, measured_s=8.0)
        for each_s in (a_s, b_s)
    ]
    trials = [
        in_block(number, 1, arm, one) for number, (arm, one) in enumerate(zip(("free", "held"), whole, strict=True), 1)
    ]
    (pair,) = gather(replace(global_counters().questions[0], tail_s=None), trials).pairs
    assert math.exp(pair.log_ratio) == pytest.approx(a_s / b_s, rel=0.001)


def test_the_rate_of_a_load_is_not_corrected_where_its_latencies_do_not_tell_its_time() -> None:
    whole = in_step(0.03)
    assert worked_share(whole) != 1.0
    for other in (replace(whole, failed=1), replace(whole, retries=1), replace(whole, clients_lost=1)):
        assert worked_share(other) == 1.0
    idle = replace(whole, windows=None, measured_s=2 * whole.measured_s)
    assert worked_share(idle) == 1.0, "clients that rested half of the time"
    assert worked_share(replace(load(30, 0.2e6), windows=None, clients=4, measured_s=2.0)) == 1.0, (
        "seven of each client"
    )
    assert worked_share(in_step(0.004)) == 1.0, "too short to tell it from the way between two transactions"
    assert worked_share(load(43, 200_000.0)) == pytest.approx(0.97), "no block is saved by it"


def test_what_was_dropped_is_a_doubt_about_the_run() -> None:
    lost = [in_block(1, 1, "held", load(10, 600_000.0)), in_block(2, 1, "free", load(45, 200_000.0))]
    (doubt,) = windows_too_short(lost)
    assert doubt.kind is DoubtKind.WINDOWS_TOO_SHORT
    assert doubt.facts == WorkLost(blocks=1)
    assert doubt.share == pytest.approx(1 / 3)
    assert windows_too_short([in_block(1, 1, "held", load(45, 200_000.0))]) == ()
