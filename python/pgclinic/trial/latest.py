"""The latest of what two samples in a row tell together, for whoever asks while they are coming in."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pgclinic.model.sample import Sample


class Latest:
    """``of`` makes a value of two samples of the database, or None; asked and told by different threads."""

    def __init__(self, of: Callable[[Sample, Sample], float | None]) -> None:
        self._of = of
        self._lock = threading.Lock()
        self._before: Sample | None = None
        self._value: float | None = None

    @property
    def value(self) -> float | None:
        with self._lock:
            return self._value

    def sample(self, sample: Sample) -> None:
        if sample.view != "database":
            return
        with self._lock:
            if self._before is not None:
                value = self._of(self._before, sample)
                # Backends flush their counters about once a second: between two flushes a sample shows nothing.
                if value is None:
                    return
                self._value = value
            self._before = sample
