"""Whether two arms differ in a figure by more than their blocks differ by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.student_t import t_interval

#: Several figures are looked at for one answer, so each has to be clearer than the answer itself.
ALPHA = 0.01
BLOCKS_MIN = 4


def differs_clearly(a: Sequence[float], b: Sequence[float]) -> bool:
    """``a`` and ``b`` are one value a block, in the same order, none negative.

    In every block the same arm has more, and the t interval of the differences, of logarithms where no value is 0,
    leaves out none.
    """
    if len(a) < BLOCKS_MIN or len(a) != len(b):
        return False
    logs = min(*a, *b) > 0
    steps = [math.log(y / x) if logs else y - x for x, y in zip(a, b, strict=True)]
    if not (all(step > 0 for step in steps) or all(step < 0 for step in steps)):
        return False
    low, high = t_interval(steps, ALPHA)
    return low > 0 or high < 0
