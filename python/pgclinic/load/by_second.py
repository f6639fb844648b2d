"""A load second by second: only seconds that were measured from end to end count."""

from __future__ import annotations

import math

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


def elapsed_at(load: LoadResult, counted_s: float) -> float:
    """Seconds after the start of measuring at which ``counted_s`` had been counted.

    The same in a sequential trial. In an interleaved one seconds of the load stand still between its windows; what its
    windows do not reach lies behind the last one.
    """
    if load.windows is None:
        return counted_s
    left_s = counted_s
    for window in load.windows.each:
        if left_s < window.counted_s:
            return window.at_s + left_s
        left_s -= window.counted_s
    last = load.windows.each[-1] if load.windows.each else None
    return (last.at_s + last.counted_s if last is not None else 0.0) + left_s
