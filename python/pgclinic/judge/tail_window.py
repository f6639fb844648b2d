"""The part of a trial that counts: its TPS, and the slope of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.load.by_second import transactions_by_second
from pgclinic.model.load import LoadResult
from pgclinic.stats.slope import log_slope_per_s

#: Fewer seconds than this have no slope worth the name.
SLOPE_SECONDS_MIN = 5
SLOPE_BINS_MAX = 120


@dataclass(frozen=True)
class Tail:
    """Transactions that ended in the last part of a trial, and how long that part was in seconds."""

    transactions: int
    length_s: float


def tail_of(load: LoadResult, tail_s: float | None) -> Tail | None:
    """The last ``tail_s`` full seconds, None where the trial is shorter than that; without ``tail_s`` all of it."""
    if tail_s is None:
        return Tail(load.transactions, load.measured_s) if load.measured_s > 0 else None
    length = tail_length(tail_s)
    totals = transactions_by_second(load)
    return Tail(sum(totals[-length:]), length) if len(totals) >= length else None


def tail_length(tail_s: float) -> int:
    """``tail_s`` in whole seconds, at least one: the series is kept by the second."""
    return max(1, round(tail_s))


def common_length(loads: Sequence[LoadResult]) -> int:
    """How many whole seconds all of the trials were measured for."""
    return min((len(transactions_by_second(load)) for load in loads), default=0)


def log_slope(load: LoadResult, tail_s: float | None, within_s: int | None = None) -> float | None:
    """By how much the logarithm of the TPS changes a second over the part of a trial that counts; Theil and Sen's.

    With ``within_s`` only so many seconds from the start are looked at, and the tail is that of these. None where fewer
    than ``SLOPE_SECONDS_MIN`` of its seconds have a transaction. Long trials are put into bins: the slope looks at all
    pairs.
    """
    totals = transactions_by_second(load)[:within_s]
    chosen = totals if tail_s is None else totals[-tail_length(tail_s) :]
    if sum(count > 0 for count in chosen) < SLOPE_SECONDS_MIN:
        return None
    width = math.ceil(len(chosen) / SLOPE_BINS_MAX)
    bins = [sum(chosen[at : at + width]) for at in range(0, len(chosen) - width + 1, width)]
    return log_slope_per_s(bins) / width


def tps_between(load: LoadResult, start_s: float, end_s: float) -> float | None:
    """Mean TPS of the full seconds from ``start_s`` to ``end_s``; None where the trial ended before."""
    totals = transactions_by_second(load)
    # A published window may be at any time, infinity included.
    if not 0 <= start_s < end_s < len(totals) + 1:
        return None
    first, last = math.ceil(start_s), math.floor(end_s)
    if last <= first or last > len(totals):
        return None
    return sum(totals[first:last]) / (last - first)
