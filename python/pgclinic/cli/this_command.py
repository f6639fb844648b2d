"""This command: when it began, and how runs keep its words, without the secrets of addresses."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

#: The 22nd field of /proc/self/stat, counted after the name, which may have blanks.
_START_FIELD = 19


def command_words(addresses: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of this process; ``addresses``, whole by those without secrets, never get into them."""
    words = sys.argv[1:]
    for safe, whole in addresses.items():
        words = [word.replace(whole, safe) for word in words]
    return ("pgclinic", *words)


def addresses_of(dsns: Iterable[str | None]) -> dict[str, str]:
    """Return the whole address of every attached server by what is stored of it."""
    from pgclinic.pg.dsn import without_password

    return {without_password(dsn): dsn for dsn in dsns if dsn is not None}


def left_of(budget_s: float) -> float:
    """Return the seconds that a budget still has, at least one: it counts from the start of the command."""
    return max(1.0, budget_s - (time.monotonic() - command_began_s()))


def command_began_s() -> float:
    """Return when the command began, before its modules were loaded, which takes seconds on a busy machine.

    The clock is that of ``time.monotonic``. Where the system does not report the start it is now.
    """
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[_START_FIELD])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age_s = 0.0
    return time.monotonic() - max(0.0, age_s)
