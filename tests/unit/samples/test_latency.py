"""Latencies of a few seconds and of a histogram."""

from __future__ import annotations

import pytest

from fixtures.written_histogram import WRITTEN_BY_THE_ENGINE
from pgclinic.model.load import SecondResult
from pgclinic.model.load_progress import LoadProgress
from pgclinic.samples.latency import (
    LatencySecond,
    LatencySpan,
    classes_of,
    latency_by_second,
    latency_edges_us,
    latency_of,
)


def second_of(latencies_us: list[int], lag_us: int = 0) -> LoadProgress:
    return LoadProgress(
        phase="measure",
        second=0,
        transactions=len(latencies_us),
        failed=0,
        skipped=0,
        retries=0,
        tps=float(len(latencies_us)),
        latency_us_mean=0.0,
        latency_us_p50=0,
        latency_us_p99=0,
        latency_us_max=0,
        clients_connected=1,
        clients=1,
        latency_us_sum=sum(latencies_us),
        latency_us2_sum=float(sum(value**2 for value in latencies_us)),
        lag_us_sum=lag_us,
    )


def test_seconds_weigh_by_their_transactions() -> None:
    span = latency_of([second_of([100, 300], lag_us=30), second_of([]), second_of([200, 200, 200, 200], lag_us=30)])
    assert span == LatencySpan(
        transactions=6, mean_us=200.0, deviation_us=pytest.approx((20000 / 6) ** 0.5), lag_us=10.0
    )


@pytest.mark.parametrize("seconds", [[], [second_of([], lag_us=5)]])
def test_without_a_transaction_all_is_zero(seconds: list[LoadProgress]) -> None:
    assert latency_of(seconds) == LatencySpan(transactions=0, mean_us=0.0, deviation_us=0.0, lag_us=0.0)


def test_rounding_makes_no_negative_variance() -> None:
    second = second_of([3] * 7)
    assert latency_of([LoadProgress(**{**_fields(second), "latency_us2_sum": 62.999999})]).deviation_us == 0.0


def _fields(second: LoadProgress) -> dict[str, object]:
    return {name: getattr(second, name) for name in second.__struct_fields__}


def result_of(second: int, script: str, *, hdr: str | None, max_us: int, transactions: int = 1673) -> SecondResult:
    return SecondResult(
        second=second,
        script=script,
        transactions=transactions,
        failed=0,
        skipped=0,
        retries=0,
        latency_us_sum=0,
        latency_us_p50=0,
        latency_us_p99=0,
        latency_us_max=max_us,
        hdr=hdr,
    )


def test_scripts_of_a_second_are_added_up() -> None:
    hdr = WRITTEN_BY_THE_ENGINE
    one, two = latency_by_second(
        [
            result_of(1, "a", hdr=hdr, max_us=10**8),
            result_of(0, "a", hdr=hdr, max_us=5),
            result_of(1, "b", hdr=hdr, max_us=10**9),
            result_of(2, "b", hdr=None, max_us=0, transactions=0),
        ]
    )
    assert (one.second, two.second, two.max_us) == (0, 1, 10**9)
    assert one.counts is not None
    assert two.counts == tuple((value, 2 * count) for value, count in one.counts)
    # No percentile is above the highest latency, though its bucket reaches further.
    assert one.percentile_us(99) == 5
    assert two.percentile_us(50) == LatencySecond(0, 10**9, one.counts).percentile_us(50)


def test_a_second_that_lacks_one_histogram_has_none() -> None:
    (second,) = latency_by_second(
        [result_of(0, "a", hdr=WRITTEN_BY_THE_ENGINE, max_us=9), result_of(0, "b", hdr=None, max_us=7)]
    )
    assert (second.counts, second.percentile_us(50), second.max_us) == (None, None, 9)


def test_classes_are_equally_wide_and_hold_everything() -> None:
    second = LatencySecond(0, 1000, ((1, 2), (150, 3), (999, 5), (1000, 1)))
    edges = latency_edges_us([second], 10)
    assert (edges[0], len(edges)) == (1.0, 32)
    assert edges[10] == pytest.approx(10.0)
    classes = dict(classes_of(second, edges))
    assert sum(classes.values()) == 11
    assert all(edges[place] <= 150 < edges[place + 1] for place, count in classes.items() if count == 3)
    assert latency_edges_us([LatencySecond(0, 0, None)], 10) == ()
