"""The word for one statement on two versions, from executions in turns. Pure.

The old version runs on two servers, a and a', the new one on one, b. The effect is the mean over the turns of
log(b / sqrt(a a')), with a t interval whose level holds for all statements together (Bonferroni). Servers of one
version differ too, by where their memory lies, and no number of turns shows that: the largest of this statement's own
a' / a, of the spread of a' / a over all statements and of a fixed share is the margin that the whole interval has to
exceed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.upgrade import UpgradeWord
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean

#: A statement that takes up to so much longer is not worth a word.
SHARE_MIN = 1.10
#: Nor is one that takes less than this longer: other parts of a round trip take more.
DIFFERENCE_MS_MIN = 0.02
ALPHA = 0.05
_ROWS_SAME = 0.01
#: The last digit of a time in EXPLAIN.
_SHORTEST_MS = 0.001
_SPREAD_PART = 0.95


@dataclass(frozen=True)
class Turns:
    """The times in ms of one statement, turn by turn, on both servers of the old version and on the new one."""

    old: Sequence[float]
    same: Sequence[float]
    new: Sequence[float]

    @property
    def effects(self) -> list[float]:
        """Logarithms of new to old, by turn."""
        return [
            _log(new) - (_log(old) + _log(same)) / 2
            for old, same, new in zip(self.old, self.same, self.new, strict=True)
        ]

    @property
    def same_effect(self) -> float:
        """The logarithm of the second old server to the first."""
        return mean([_log(same) - _log(old) for old, same in zip(self.old, self.same, strict=True)])


@dataclass(frozen=True)
class TurnsEffect:
    """Ratios of new to old with the simultaneous interval; ``margin`` is the ratio that it has to exceed."""

    word: UpgradeWord
    ratio: float
    low: float
    high: float
    same_ratio: float
    margin: float


def same_spread(of_statements: Sequence[Turns]) -> float:
    """The ratio within which 95 % of the statements lie, on two servers of the old version; 1 without any."""
    distances = sorted(abs(turns.same_effect) for turns in of_statements if turns.old)
    if not distances:
        return 1.0
    return math.exp(distances[min(len(distances) - 1, math.ceil(_SPREAD_PART * len(distances)) - 1)])


def effect(turns: Turns, *, spread: float, statements: int) -> TurnsEffect:
    """``spread`` is ``same_spread`` of all ``statements``; needs two turns or more."""
    effects = turns.effects
    ratio = math.exp(mean(effects))
    low, high = (math.exp(edge) for edge in t_interval(effects, ALPHA / max(1, statements)))
    margin = max(SHARE_MIN, spread, math.exp(2 * abs(turns.same_effect)))
    old_ms = mean([*turns.old, *turns.same])
    difference_ms = abs(mean(list(turns.new)) - old_ms)
    word = UpgradeWord.OPEN
    if difference_ms < DIFFERENCE_MS_MIN or 1 / margin <= ratio <= margin:
        word = UpgradeWord.UNCHANGED
    elif low > margin:
        word = UpgradeWord.SLOWER
    elif high < 1 / margin:
        word = UpgradeWord.FASTER
    return TurnsEffect(word, ratio, low, high, math.exp(turns.same_effect), margin)


def same_rows(before: float, after: float) -> bool:
    """Whether both versions return or change about the same number of rows."""
    return abs(after - before) <= max(0.5, _ROWS_SAME * before)


def _log(ms: float) -> float:
    return math.log(max(ms, _SHORTEST_MS))
