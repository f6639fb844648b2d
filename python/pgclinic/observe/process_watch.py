"""Looks at all processes of a server again and again beside a load, from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import pairwise

from pgclinic.errors import ServerLostError
from pgclinic.model.processes import ProcessKind, ProcessSample
from pgclinic.observe.process_table import ProcessTable

INTERVAL_S = 1.0


class ProcessWatch:
    """Samples from ``start`` to ``stop``; for a server that is not on this machine (no pid) it has none."""

    def __init__(self, postmaster_pid: int | None) -> None:
        self._table = ProcessTable(postmaster_pid) if postmaster_pid is not None else None
        self._taken: list[ProcessSample] = []
        #: The CPU that looking cost, in seconds; known when it has stopped.
        self.cost_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pgclinic-processes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> tuple[ProcessSample, ...]:
        """One last look, and all samples, oldest first; they carry epoch seconds."""
        self._stopping.set()
        self._thread.join(timeout=5.0)
        return tuple(self._taken)

    def _run(self) -> None:
        while self._look() and not self._stopping.wait(INTERVAL_S):
            pass
        self._look()
        self.cost_s = time.thread_time()

    def _look(self) -> bool:
        """False when there is nothing to look at any more."""
        if self._table is None:
            return False
        try:
            self._taken.append(self._table.sample())
        except ServerLostError:
            return False
        return True


def read_calls_between(samples: Sequence[ProcessSample], begin_s: float, end_s: float) -> float | None:
    """Read system calls of all processes from ``begin_s`` to ``end_s``, by the straight line between two samples.

    None where the samples do not enclose that time, or where this user may not see what some processes read.
    """
    if begin_s >= end_s or any(not row.io_known for sample in samples for row in sample.kinds):
        return None
    begin, end = _read_calls_at(samples, begin_s), _read_calls_at(samples, end_s)
    return end - begin if begin is not None and end is not None else None


def client_memory_bytes(samples: Sequence[ProcessSample]) -> float | None:
    """The memory that one client's backend has for itself, on average, when the most of them were there."""
    rows = [row for sample in samples if (row := sample.of(ProcessKind.CLIENT)) is not None and row.alive]
    if not rows:
        return None
    fullest = max(reversed(rows), key=lambda row: row.alive)
    return fullest.rss_anon_bytes / fullest.alive


def _read_calls_at(samples: Sequence[ProcessSample], at_s: float) -> float | None:
    for before, after in pairwise(samples):
        if before.at_s <= at_s <= after.at_s and after.at_s > before.at_s:
            share = (at_s - before.at_s) / (after.at_s - before.at_s)
            return _read_calls(before) + share * (_read_calls(after) - _read_calls(before))
    return None


def _read_calls(sample: ProcessSample) -> int:
    return sum(row.use.read_calls for row in sample.kinds)
