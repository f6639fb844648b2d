"""How many trials of which length fit into the time that one proof on a twin has."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pgclinic.study.duration import MEASURE_S_MIN, OVERHEAD_S_GUESS

#: The fewest blocks with an interval that holds however often it is looked at; and those that a proof gets if it can.
BLOCKS_MIN, BLOCKS_WANTED = 5, 8
#: Longer trials do not make up for fewer blocks.
MEASURE_S_MAX = 10.0
WARM_UP_S = 1.0
_ARMS = 2


@dataclass(frozen=True)
class Trials:
    """How long each trial measures; ``blocks`` is their number where it is fixed, else the budget of the proof ends."""

    measure_s: float
    blocks: int | None = None


class TimeLeft:
    """What is left of a budget. It counts from ``began_s`` of the monotonic clock, None for when it is made."""

    def __init__(self, budget_s: float, began_s: float | None = None) -> None:
        self._end_s = (began_s if began_s is not None else time.monotonic()) + budget_s

    @property
    def seconds(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    @property
    def overrun_s(self) -> float:
        return max(0.0, time.monotonic() - self._end_s)


def trials_in_time(share_s: float, warm_up_s: float = WARM_UP_S, arms: int = _ARMS) -> Trials | None:
    """The trials of a proof that has ``share_s`` for all of it; None where that is too little."""
    for blocks in range(BLOCKS_WANTED, BLOCKS_MIN - 1, -1):
        measure_s = share_s / (blocks * arms) - warm_up_s - OVERHEAD_S_GUESS
        if measure_s >= MEASURE_S_MIN:
            return Trials(min(measure_s, MEASURE_S_MAX))
    return None


def arms_in_time(share_s: float, arms_max: int, measure_s: float, warm_up_s: float = WARM_UP_S) -> int:
    """How many arms a proof can have that would measure each of them for ``measure_s`` in the fewest blocks; two at
    least. More blocks with shorter trials take as long."""
    each_s = measure_s + warm_up_s + OVERHEAD_S_GUESS
    return max(_ARMS, min(arms_max, int(share_s / (BLOCKS_MIN * each_s))))


def needed_s(warm_up_s: float = WARM_UP_S) -> float:
    """The least time in which a proof gives an interval."""
    return BLOCKS_MIN * _ARMS * (MEASURE_S_MIN + warm_up_s + OVERHEAD_S_GUESS)
