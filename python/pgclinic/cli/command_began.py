"""When this command began: before its modules were loaded, which takes seconds on a busy machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: The 22nd field of /proc/self/stat, counted after the name, which may have blanks.
_START_FIELD = 19


def left_of(budget_s: float) -> float:
    """Seconds that a budget still has: it counts from the start of the command. Never less than one."""
    return max(1.0, budget_s - (time.monotonic() - command_began_s()))


def command_began_s() -> float:
    """On the clock of ``time.monotonic``; now, where the system does not report it."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[_START_FIELD])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age_s = 0.0
    return time.monotonic() - max(0.0, age_s)
