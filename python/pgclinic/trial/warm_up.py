"""Ends a warm-up when the server has come to rest, by what both threads of a trial tell while it lasts."""

from __future__ import annotations

import threading

from pgclinic.model.load import LoadProgress
from pgclinic.model.sample import Sample
from pgclinic.observe.deltas import miss_rate
from pgclinic.stats.warm_up import cut_by_state

# Before the server's counters have told anything, nothing is known to be in its cache.
_COLD = 1.0


class WarmUpWatch:
    """Called by the sampler's thread with samples, by the engine's with its progress."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: Sample | None = None
        self._latest: float | None = None
        self._tps: list[float] = []
        self._miss_rates: list[float | None] = []

    def sample(self, sample: Sample) -> None:
        if sample.view != "database":
            return
        with self._lock:
            if self._before is not None:
                rate = miss_rate(self._before, sample)
                # Between two flushes of the backends' counters a sample shows nothing at all.
                if rate is None:
                    return
                self._latest = rate
            self._before = sample

    def progress(self, progress: LoadProgress) -> None:
        if progress.phase != "warm_up":
            return
        with self._lock:
            self._tps.append(progress.tps)
            self._miss_rates.append(self._latest)

    def is_warm(self) -> bool:
        """Whether TPS and the share of pages not found in the cache have come to rest."""
        with self._lock:
            return cut_by_state(self._tps, self._known()).settled

    def _known(self) -> list[float] | None:
        """None where the server tells nothing: then TPS alone must do."""
        if self._latest is None:
            return None
        return [_COLD if rate is None else rate for rate in self._miss_rates]
