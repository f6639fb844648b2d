"""How many more blocks would decide a question that is still open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats import planned_sequence
from pgclinic.stats.confidence_sequence import half_width, width_factor

#: Beyond this many blocks in all the answer is "not by more blocks": the estimate lies on a boundary.
OUT_OF_REACH = 10_000


def first_bounded(alpha: float = 0.05) -> int:
    """The number of blocks from which the always-valid interval has finite bounds."""
    n = 2
    while math.isinf(width_factor(n, alpha)):
        n += 1
    return n


def deciding_half_width(centre: float, boundaries: Sequence[float]) -> float:
    """The widest half-width at which an interval round ``centre`` crosses no boundary."""
    return min(abs(centre - boundary) for boundary in boundaries)


def blocks_still_needed(
    n: int, deviation: float, half_width_wanted: float, alpha: float = 0.05, *, horizon: int | None = None
) -> int | None:
    """How many blocks after ``n`` bring the half-width down to the wanted one, if the spread stays ``deviation``.

    ``horizon`` are the blocks that were planned at most; without it the interval is the confidence sequence.

    For large n that is n (h / wanted)^2 - n with h the present half-width; the search counts exactly because the
    first intervals are far wider than that law says. None where more blocks would not decide it.
    """
    total = max(n + 1, first_bounded(alpha))
    if deviation == 0.0:
        return total - n
    if half_width_wanted <= 0.0:
        return None

    def half(blocks: int) -> float:
        if horizon is not None:
            return planned_sequence.half_width(blocks, deviation, horizon)
        return half_width(blocks, deviation, alpha)

    low, high = total - 1, total
    while half(high) > half_width_wanted:
        low, high = high, high * 2
        if low > OUT_OF_REACH:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if half(middle) > half_width_wanted:
            low = middle
        else:
            high = middle
    return high - n
