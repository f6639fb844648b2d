"""Latencies of a load: percentiles of a histogram, and mean and deviation of a few seconds. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import Histogram
from pgclinic.model.load_progress import LoadProgress
from pgclinic.stats.hdr import decode_histogram


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
