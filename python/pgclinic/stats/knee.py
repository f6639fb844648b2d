"""Where a curve bends: for the reader's eye, never for a test."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.claimed_region import NULL_EFFECT


def knee(levels: Sequence[float], values: Sequence[float]) -> int | None:
    """Index of the level at which the curve, both axes logarithmic, is farthest from its chord (Kneedle, 2011).

    None for a curve of fewer than three levels, or one that is nowhere farther from its chord than counts as a
    difference: noise bends every line a little. All numbers must be above zero, the levels in rising order.
    """
    if len(levels) < 3:
        return None
    x, y = [math.log(level) for level in levels], [math.log(value) for value in values]
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    off = [abs(b - (y[0] + slope * (a - x[0]))) for a, b in zip(x, y, strict=True)]
    farthest = max(range(len(off)), key=off.__getitem__)
    return farthest if off[farthest] > NULL_EFFECT else None
