"""TPS of one trial second by second: only seconds that were measured from end to end count."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgclinic.model.load import LoadResult

#: A trial that ends this much before a full second still has that second: clocks and timers are not exact.
_TOLERANCE_S = 0.01


def full_seconds(load: LoadResult) -> int:
    """How many seconds were measured from their start to their end."""
    return math.floor(load.measured_s + _TOLERANCE_S)


def transactions_by_second(load: LoadResult) -> tuple[int, ...]:
    """Committed transactions of all scripts in each full second; a second without a row had none."""
    totals = [0] * full_seconds(load)
    for second in load.seconds:
        if 0 <= second.second < len(totals):
            totals[second.second] += second.transactions
    return tuple(totals)


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


def tps_between(load: LoadResult, start_s: float, end_s: float) -> float | None:
    """Mean TPS of the full seconds from ``start_s`` to ``end_s``; None where the trial ended before."""
    first, last = math.ceil(start_s), math.floor(end_s)
    totals = transactions_by_second(load)
    if last <= first or last > len(totals):
        return None
    return sum(totals[first:last]) / (last - first)
