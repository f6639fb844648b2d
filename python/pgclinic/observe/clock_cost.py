"""What reading the clock takes: tens of nanoseconds by the processor's counter, microseconds by a device."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import repeat

#: Many short ones, so that some of them are not interrupted on a busy machine.
_BATCHES = 200
_CALLS = 500


def clock_read_ns(batches: int = _BATCHES, calls: int = _CALLS) -> float:
    """Nanoseconds for one reading of the steady clock: the fastest of some batches, without Python's call."""
    with_clock = min(_batch_ns(time.perf_counter_ns, calls) for _ in range(batches))
    # The cheapest function of Python's own that makes a number, too.
    call_alone = min(_batch_ns(sys.getrecursionlimit, calls) for _ in range(batches))
    return max(0.0, with_clock - call_alone)


def _batch_ns(call: Callable[[], int], calls: int) -> float:
    started_ns = time.perf_counter_ns()
    for _ in repeat(None, calls):
        call()
    return (time.perf_counter_ns() - started_ns) / calls
