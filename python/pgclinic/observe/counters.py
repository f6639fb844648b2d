"""The database's cumulative counters, sampled once a second beside the load, on one connection of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pgclinic.model.trial import CounterSample
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.pg.sql import query

INTERVAL_S = 1.0
STATEMENT_TIMEOUT_MS = 900


class CounterSampler:
    """Samples in a thread from ``start`` to ``stop``. A server too slow to answer leaves a gap, not a hang.

    ``on_sample`` is called from the sampling thread with every sample.
    """

    def __init__(self, access: Access, on_sample: Callable[[CounterSample], None] | None = None) -> None:
        self._session = Session(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe")
        self._sql = query("database_counters", access.major)
        self._on_sample = on_sample
        self._stopping = threading.Event()
        self._samples: list[CounterSample] = []
        self._thread = threading.Thread(target=self._run, name="pgclinic-observe", daemon=True)
        self._started_s = 0.0
        self.gaps = 0

    def start(self) -> None:
        """Take the first sample now; samples carry epoch seconds."""
        self._started_s = time.monotonic()
        self._thread.start()

    def stop(self) -> tuple[CounterSample, ...]:
        """End the sampling with one last sample and give all of them, oldest first."""
        self._stopping.set()
        self._thread.join(timeout=2 * STATEMENT_TIMEOUT_MS / 1000 + INTERVAL_S)
        self._session.close()
        return tuple(self._samples)

    def _run(self) -> None:
        due_s = self._started_s
        while True:
            self._sample()
            due_s += INTERVAL_S
            if self._stopping.wait(max(0.0, due_s - time.monotonic())):
                break
        self._sample()

    def _sample(self) -> None:
        try:
            hits, reads, commits = self._session.row(self._sql)
        except QueryError:
            self.gaps += 1
            return
        sample = CounterSample(at_s=time.time(), buffer_hits=hits, buffer_reads=reads, commits=commits)
        self._samples.append(sample)
        if self._on_sample is not None:
            self._on_sample(sample)


def hits_per_transaction(before: CounterSample, after: CounterSample) -> float | None:
    """Shared buffer hits per committed transaction between two samples; None when nothing was committed.

    Hits and commits come from the same flush of each backend, so their ratio holds although both arrive late.
    """
    commits = after.commits - before.commits
    return (after.buffer_hits - before.buffer_hits) / commits if commits > 0 else None
