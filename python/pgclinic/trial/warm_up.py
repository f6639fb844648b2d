"""Ends a warm-up when the server has come to rest, by what both threads of a trial tell while it lasts."""

from __future__ import annotations

from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.sample import Sample
from pgclinic.samples.deltas import miss_rate
from pgclinic.stats.warm_up import cut_by_state
from pgclinic.trial.latest import Latest

# Before the server's counters have told anything, nothing is known to be in its cache.
_COLD = 1.0


class WarmUpWatch:
    """Called by the sampler's thread with samples, by the engine's with its progress and to be asked."""

    def __init__(self) -> None:
        #: Whether it has come to rest; the engine then ends the warm-up, if it is not over by itself.
        self.settled = False
        self._misses = Latest(miss_rate)
        self._tps: list[float] = []
        self._miss_rates: list[float | None] = []

    def sample(self, sample: Sample) -> None:
        self._misses.sample(sample)

    def progress(self, progress: LoadProgress) -> None:
        if progress.phase == "warm_up":
            self._tps.append(progress.tps)
            self._miss_rates.append(self._misses.value)

    def is_warm(self) -> bool:
        """Whether TPS and the share of pages not found in the cache have come to rest."""
        self.settled = self.settled or cut_by_state(self._tps, self._known()).settled
        return self.settled

    def _known(self) -> list[float] | None:
        """None where the server tells nothing: then TPS alone must do."""
        if self._misses.value is None:
            return None
        return [_COLD if rate is None else rate for rate in self._miss_rates]
