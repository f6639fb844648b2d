"""How often a second the lab's disk flushes: what limits commits there, measured as pg_test_fsync does."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from pgclinic.model.doctor import FlushRate
from pgclinic.stats.summary import median

_BLOCK = b"\x5a" * 8192
#: However fast the disk is, no more are needed for a rate.
_FLUSHES_MAX = 5_000


def flush_rate(directory: Path, limit_s: float = 0.5) -> FlushRate:
    """Flush a block of a file in ``directory`` for ``limit_s`` at most, twice at least. Raises OSError.

    The file has no name, so nothing of it stays whatever happens.
    """
    took_us: list[float] = []
    with tempfile.TemporaryFile(dir=directory) as file:
        # As WAL: the file has its size before, and a flush writes no metadata.
        os.pwrite(file.fileno(), _BLOCK, 0)
        os.fsync(file.fileno())
        started_s = last_s = time.perf_counter()
        while len(took_us) < 2 or (last_s - started_s < limit_s and len(took_us) < _FLUSHES_MAX):
            os.pwrite(file.fileno(), _BLOCK, 0)
            os.fdatasync(file.fileno())
            now_s = time.perf_counter()
            took_us.append((now_s - last_s) * 1e6)
            last_s = now_s
    return FlushRate(
        flushes=len(took_us),
        elapsed_s=last_s - started_s,
        flush_us_p50=median(took_us),
        flush_us_p90=sorted(took_us)[len(took_us) * 9 // 10],
    )
