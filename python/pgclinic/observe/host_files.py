"""What the kernel says of the whole machine under /proc and /sys, as it writes it. Only ``first_line`` reads a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_SELECTED = re.compile(r"\[(\w+)\]")
_PRESSURE = re.compile(r"^(some|full) avg10=([0-9.]+) .*total=(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class CpuTicks:
    """Ticks of all processors since boot. ``idle`` is without those in which a process waited for I/O."""

    total: int
    idle: int
    iowait: int
    stolen: int


@dataclass(frozen=True)
class Pressure:
    """``share`` is that of the last 10 s in which processes waited, ``total_us`` all such time since boot."""

    share: float
    total_us: int


def meminfo(text: str) -> dict[str, int]:
    """Bytes by name, and numbers of pages as they are."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return found


def cpu_ticks(text: str) -> CpuTicks | None:
    """Of the first line of /proc/stat; the time of guests is in that of users."""
    words = text.partition("\n")[0].split()
    if not words or words[0] != "cpu" or len(words) < 9:
        return None
    user, nice, system, idle, iowait, irq, softirq, stolen = (int(word) for word in words[1:9])
    return CpuTicks(
        total=user + nice + system + idle + iowait + irq + softirq + stolen, idle=idle, iowait=iowait, stolen=stolen
    )


def vmstat(text: str) -> dict[str, int]:
    """Counters since boot by name; those that the kernel has by zone are added up under the name before the zone."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if not number.strip().isdigit():
            continue
        found[name] = int(number)
        if name.startswith("allocstall"):
            found["allocstalls"] = found.get("allocstalls", 0) + int(number)
    return found


def pressure(text: str) -> dict[str, Pressure]:
    """By ``some`` and ``full``; empty where the kernel does not report pressure."""
    return {
        kind: Pressure(share=float(share) / 100, total_us=int(total)) for kind, share, total in _PRESSURE.findall(text)
    }


def selected(text: str | None) -> str | None:
    """``madvise`` of ``always [madvise] never``."""
    found = _SELECTED.search(text or "")
    return found[1] if found else None


def first_line(path: Path) -> str | None:
    """None where the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").partition("\n")[0].strip()
    except OSError:
        return None


def whole(text: str | None) -> int | None:
    """A number that a file holds alone."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
