"""What a bench does, as the events of its run folder: where its loads stand, and their seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from pgclinic.bench.observed import ARM, BLOCK
from pgclinic.model.bench import RateTrial
from pgclinic.model.event import Event, SecondMeasured, StageReached, TrialEnded
from pgclinic.model.load import LoadSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.progress import Progress
from pgclinic.model.run import Second

_STAGES = {
    "connect": "connecting",
    "warm_up": "warming up",
    "measure": "measuring",
    "drain": "waiting for running transactions",
}


class BenchEvents:
    """Each event goes to ``add`` when it happens. ``at_most`` is whether the load may end before its time.

    Of a search for a rate, ``is_search``, nobody knows how many loads there will be.
    """

    def __init__(self, add: Callable[[Event], None], spec: LoadSpec, *, at_most: bool, is_search: bool) -> None:
        self._add = add
        self._measure_s = None if is_search else spec.measure_s
        self._warm_up_s = spec.warm_up_s
        self._at_most = at_most
        self._number, self._rate = 1, ARM
        self._phase = ""

    def load_begins(self, number: int, rate: str) -> None:
        """The next load of a search, at this rate in words."""
        self._number, self._rate, self._phase = number, rate, ""

    def progress(self, progress: LoadProgress) -> None:
        """A second of the load: an event where it is the first one of a stage."""
        if progress.phase == self._phase or progress.phase not in _STAGES:
            return
        self._phase = progress.phase
        stage = _STAGES[progress.phase]
        self._add(
            StageReached(
                trial=self._number,
                block=BLOCK,
                arm=ARM,
                stage=stage,
                at_epoch_us=_now_us(),
                progress=Progress(
                    block=self._number,
                    blocks=0,
                    arm=self._rate,
                    stage=stage,
                    left_s=self._left_s(progress),
                    at_most=self._at_most,
                ),
            )
        )

    def second(self, second: Second) -> None:
        """A measured second."""
        self._add(SecondMeasured(second=second))

    def load_ended(self, trial: RateTrial) -> None:
        """What a load of a search gave, and what it missed."""
        self._add(
            TrialEnded(
                trial=self._number,
                block=BLOCK,
                arm=self._rate,
                at_epoch_us=_now_us(),
                tps=trial.served_tps,
                failure=trial.why or None,
            )
        )

    def _left_s(self, progress: LoadProgress) -> float | None:
        """The second that is reported is over."""
        if self._measure_s is None:
            return None
        passed_s = progress.second + 1.0
        match progress.phase:
            case "connect":
                return self._warm_up_s + self._measure_s
            case "warm_up":
                return max(0.0, self._warm_up_s - passed_s) + self._measure_s
            case "measure":
                return max(0.0, self._measure_s - passed_s)
        return None


def _now_us() -> int:
    return time.time_ns() // 1000
