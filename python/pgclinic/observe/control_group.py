"""The limits of a process's control group, of either version of control groups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pgclinic.observe.host_files import whole

#: The first version writes a number near 2^63 for a group without a limit.
_UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True)
class ControlGroup:
    """``periods`` are those of the CPU limit so far, ``throttled_periods`` those that used it up; None without one.

    ``memory_used_bytes`` is that of the group whose limit is nearest, without cache that the kernel may take back.
    """

    processors: float | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    oom_kills: int | None = None
    periods: int | None = None
    throttled_periods: int | None = None


def control_group(groups: str, mounted: Path) -> ControlGroup:
    """``groups`` is the text of /proc/PID/cgroup, ``mounted`` where control groups are seen."""
    cpu, memory = _folders(groups, "cpu", mounted), _folders(groups, "memory", mounted)
    quotas = [quota for folder in cpu if (quota := _processors(folder)) is not None]
    counted = [found for folder in cpu if (found := _periods(folder)) is not None]
    # The group that ran against its limit most often is the narrowest.
    periods, throttled = max(counted, key=lambda one: one[1], default=(None, None))
    limits = [(limit, _used(folder) or 0) for folder in memory if (limit := _memory_limit(folder)) is not None]
    limit, used = max(limits, key=lambda one: one[1] / max(one[0], 1), default=(None, None))
    kills = [count for folder in memory[:1] if (count := _oom_kills(folder)) is not None]
    return ControlGroup(
        processors=min(quotas, default=None),
        memory_bytes=limit,
        memory_used_bytes=used,
        oom_kills=kills[0] if kills else None,
        periods=periods,
        throttled_periods=throttled,
    )


def _folders(groups: str, controller: str, mounted: Path) -> list[Path]:
    """The group's folder and those above it, innermost first. In a container its own is often seen as the root."""
    for line in groups.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "" and (mounted / "cgroup.controllers").exists():
            top = mounted
        elif controller in controllers.split(","):
            top = mounted / controllers if (mounted / controllers).is_dir() else mounted / controller
        else:
            continue
        inner = top / path.lstrip("/")
        if ".." in inner.parts or not inner.is_dir():
            return [top]
        return [inner, *(parent for parent in inner.parents if parent == top or top in parent.parents)]
    return []


def _processors(folder: Path) -> float | None:
    both = _words(folder / "cpu.max")
    if len(both) == 2:
        quota, period = whole(both[0]), whole(both[1])
    else:
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and quota > 0 and period else None


def _periods(folder: Path) -> tuple[int, int] | None:
    stat = _named(folder / "cpu.stat")
    return (stat["nr_periods"], stat.get("nr_throttled", 0)) if stat.get("nr_periods") else None


def _memory_limit(folder: Path) -> int | None:
    limit = _number(folder / "memory.max")
    if limit is None:
        limit = _number(folder / "memory.limit_in_bytes")
    return limit if limit is not None and limit < _UNLIMITED_BYTES else None


def _used(folder: Path) -> int | None:
    used = _number(folder / "memory.current")
    if used is None:
        used = _number(folder / "memory.usage_in_bytes")
    stat = _named(folder / "memory.stat")
    cache = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    return max(used - cache, 0) if used is not None else None


def _oom_kills(folder: Path) -> int | None:
    return _named(folder / "memory.events").get("oom_kill", _named(folder / "memory.oom_control").get("oom_kill"))


def _number(file: Path) -> int | None:
    words = _words(file)
    return whole(words[0]) if len(words) == 1 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return []


def _named(file: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    words = _words(file)
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=False) if number.isdigit()}
