"""Latencies of a load: percentiles of a histogram and by the second, mean and deviation of a few seconds. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import Histogram, SecondResult
from pgclinic.model.load_progress import LoadProgress
from pgclinic.stats.hdr import Buckets, decode_histogram


def percentiles_us(latency: Histogram, percentiles: Sequence[float]) -> tuple[float, ...]:
    """The latency at each of ``percentiles`` (0 to 100), in microseconds."""
    buckets = decode_histogram(latency.hdr)
    # The last bucket reaches beyond the highest value itself.
    return tuple(min(buckets.percentile(percentile), latency.max_us) for percentile in percentiles)


@dataclass(frozen=True)
class LatencySpan:
    """Transactions of a few seconds, their mean latency and its standard deviation, and the mean lag; 0 of none."""

    transactions: int
    mean_us: float
    deviation_us: float
    lag_us: float


def latency_of(seconds: Sequence[LoadProgress]) -> LatencySpan:
    """By the sums and the sums of squares that the engine keeps a second."""
    done = sum(second.transactions for second in seconds)
    if not done:
        return LatencySpan(transactions=0, mean_us=0.0, deviation_us=0.0, lag_us=0.0)
    mean_us = sum(second.latency_us_sum for second in seconds) / done
    squares = sum(second.latency_us2_sum for second in seconds) / done
    return LatencySpan(
        transactions=done,
        mean_us=mean_us,
        deviation_us=math.sqrt(max(0.0, squares - mean_us**2)),
        lag_us=sum(second.lag_us_sum for second in seconds) / done,
    )


@dataclass(frozen=True)
class LatencySecond:
    """Latencies of one second of a load, all scripts together.

    ``counts`` are pairs of a latency and how many transactions had it, in two digits, in rising order; they are None
    where the engine was not asked for a histogram of each second.
    """

    second: int
    max_us: int
    counts: tuple[tuple[int, int], ...] | None

    def percentile_us(self, percent: float) -> int | None:
        """None without a histogram."""
        if self.counts is None:
            return None
        return min(Buckets(self.counts, ()).percentile(percent), self.max_us)


def latency_by_second(seconds: Sequence[SecondResult]) -> tuple[LatencySecond, ...]:
    """The seconds in which a transaction was committed, in order of time."""
    rows: dict[int, list[SecondResult]] = {}
    for one in seconds:
        if one.transactions > 0:
            rows.setdefault(one.second, []).append(one)
    return tuple(
        LatencySecond(second, max(one.latency_us_max for one in own), _counts(own))
        for second, own in sorted(rows.items())
    )


def _counts(rows: Sequence[SecondResult]) -> tuple[tuple[int, int], ...] | None:
    sums: dict[int, int] = {}
    for one in rows:
        if one.hdr is None:
            return None
        for value, count in decode_histogram(one.hdr).counts:
            sums[value] = sums.get(value, 0) + count
    return tuple(sorted(sums.items()))


def latency_edges_us(seconds: Sequence[LatencySecond], per_decade: int) -> tuple[float, ...]:
    """Edges of classes of equal width on a logarithmic axis, around all that was counted; empty of nothing."""
    known = [value for one in seconds for value, _ in one.counts or ()]
    if not known:
        return ()
    first = math.floor(per_decade * math.log10(max(1, min(known))))
    last = math.floor(per_decade * math.log10(max(1, *known))) + 1
    return tuple(10 ** (step / per_decade) for step in range(first, last + 1))


def classes_of(second: LatencySecond, edges_us: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """How many transactions of a second lie in which class: pairs of its number and theirs."""
    sums: dict[int, int] = {}
    for value, count in second.counts or ():
        place = min(max(bisect_right(edges_us, value) - 1, 0), len(edges_us) - 2)
        sums[place] = sums.get(place, 0) + count
    return tuple(sorted(sums.items()))
