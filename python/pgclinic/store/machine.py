"""What machine this is, for run.json."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pgclinic.model.machine import Machine


def read_machine() -> Machine:
    """The machine as /proc and /sys tell it; what they do not tell is None."""
    return Machine(
        cpu_model=_cpu_model(),
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        governor=_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        autogroup={"0": False, "1": True}.get(_line("/proc/sys/kernel/sched_autogroup_enabled") or ""),
        architecture=platform.machine(),
    )


def usable_cores() -> int:
    """The cores that this process may use; where the system does not report them (macOS) those of the machine."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _cpu_model() -> str:
    for line in (_line("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()
