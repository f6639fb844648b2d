"""In which figures two arms differ by more than their blocks differ by chance, at one level for the whole list."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.moderated_t import holm, p_values

#: How often a list has any figure that is called different and is not: work, waits, groups of waits and statements are
#: looked at for one answer, and share its 5 %.
ALPHA = 0.05 / 4
BLOCKS_MIN = 4

#: One value a block of the first arm and of the second, in the same order, none negative.
Values = tuple[Sequence[float], Sequence[float]]


def clear_differences(figures: Sequence[Values], alpha: float = ALPHA) -> tuple[bool, ...]:
    """For each figure of a list, all of the same blocks, whether the arms clearly differ in it.

    The differences, of logarithms where no value is 0, are not by chance: of the lists without any difference a share
    of ``alpha`` at most has one. A figure that has no value in some blocks is passed without them, and never differs.
    """
    blocks = max((len(a) for a, _ in figures), default=0)
    known = [at for at, (a, b) in enumerate(figures) if len(a) == len(b) == blocks]
    if blocks < BLOCKS_MIN:
        return (False,) * len(figures)
    steps = {at: _steps(*figures[at]) for at in known}
    by_log = [at for at in known if _has_logs(*figures[at])]
    chances = dict(zip(by_log, p_values([steps[at] for at in by_log]), strict=True))
    # Differences of figures that have no logarithm are in units of their own, so their spreads say nothing together.
    chances |= {at: p_values([steps[at]])[0] for at in known if at not in chances}
    return holm([chances.get(at, 1.0) for at in range(len(figures))], alpha)


def _has_logs(a: Sequence[float], b: Sequence[float]) -> bool:
    return min(*a, *b) > 0


def _steps(a: Sequence[float], b: Sequence[float]) -> list[float]:
    logs = _has_logs(a, b)
    return [math.log(y / x) if logs else y - x for x, y in zip(a, b, strict=True)]
