"""Latencies of a few seconds and of a histogram."""

from __future__ import annotations

import pytest

from pgclinic.model.load_progress import LoadProgress
from pgclinic.samples.latency import LatencySpan, latency_of


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
