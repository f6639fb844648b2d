"""Which arm of an interleaved block has the load when. Pure.

Rounds of one window for each arm follow each other without a pause, in counterbalanced order: with two arms and the
letters of their windows, AB BA AB BA or AB BA BA AB. Every arm gets as many windows of the same length, so noise that
lasts for longer than a window meets all of them alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.errors import UsageError
from pgclinic.model.load import WindowSpan
from pgclinic.stats.block_order import block_order, blocks_in_cycle

#: How long an arm has the load where no calibration says otherwise.
WINDOW_S = 1.0
#: How long after each change nothing counts: transactions of the arm before end, those of the next one spread out.
GUARD_S = 0.1


@dataclass(frozen=True)
class PlannedWindow:
    """One window of one arm, in seconds after the origin; what ends from ``counts_from_s`` on counts."""

    arm: str
    begin_s: float
    counts_from_s: float
    end_s: float

    @property
    def span(self) -> WindowSpan:
        return WindowSpan(begin_s=self.begin_s, end_s=self.end_s)


def plan_windows(
    arms: Sequence[str], *, warm_up_s: float, measure_s: float, window_s: float, guard_s: float, seed: int
) -> tuple[PlannedWindow, ...]:
    """All windows of a block in order of time: first of the warm-up, then of measuring, in an order drawn from
    ``seed``.

    Without its guards each arm's windows last ``warm_up_s`` and ``measure_s`` in all. Windows of measuring are as many
    as make whole cycles of orders, and so may be shorter than ``window_s``. Raises UsageError where a window would be
    all guard.
    """
    if guard_s < 0 or window_s <= guard_s:
        raise UsageError(f"a window of {window_s:g} s must be longer than its guard of {guard_s:g} s")
    cycle = blocks_in_cycle(len(arms))
    warm_up_rounds = math.ceil(warm_up_s / (window_s - guard_s))
    rounds = cycle * max(1, math.ceil(measure_s / (window_s - guard_s) / cycle))
    counted_s = [warm_up_s / max(1, warm_up_rounds)] * warm_up_rounds + [measure_s / rounds] * rounds
    windows: list[PlannedWindow] = []
    begin_s = 0.0
    for number, seconds in enumerate(counted_s):
        # Measuring begins with a whole cycle, whatever the warm-up took.
        at = number if number < warm_up_rounds else number - warm_up_rounds
        for arm in block_order(arms, seed, at + 1):
            # Whole nanoseconds, so that a window ends just where the next one begins.
            end_s = round(begin_s + guard_s + seconds, 9)
            windows.append(PlannedWindow(arm, begin_s, begin_s + guard_s, end_s))
            begin_s = end_s
    return tuple(windows)
