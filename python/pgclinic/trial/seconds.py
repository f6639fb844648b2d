"""Joins the engine's seconds and the server's counters while both are coming in."""

from __future__ import annotations

from collections.abc import Callable

from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.run import Second
from pgclinic.model.sample import Sample
from pgclinic.samples.deltas import hits_per_transaction
from pgclinic.trial.latest import Latest


class LiveSeconds:
    """Called by two threads: the sampler's with samples, the engine's with its progress; by the latter alone where
    nothing is sampled."""

    def __init__(self, trial: int, block: int, arm: str, on_second: Callable[[Second], None]) -> None:
        self._trial, self._block, self._arm = trial, block, arm
        self._on_second = on_second
        self._hits = Latest(hits_per_transaction)

    def sample(self, sample: Sample) -> None:
        self._hits.sample(sample)

    def progress(self, progress: LoadProgress) -> None:
        if progress.phase != "measure":
            return
        self._on_second(
            Second(
                trial=self._trial,
                block=self._block,
                arm=self._arm,
                second=progress.second,
                tps=progress.tps,
                failed=progress.failed,
                latency_us_p50=progress.latency_us_p50,
                latency_us_p99=progress.latency_us_p99,
                buffer_hits_per_transaction=self._hits.value,
            )
        )
