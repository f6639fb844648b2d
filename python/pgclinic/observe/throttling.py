"""What slows the processors down: their clock, and a CPU limit of the control group, from /proc and /sys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pgclinic.stats.summary import mean

#: Fewer looks at the clock than this show nothing.
LOOKS_MIN = 6


def megahertz(cpuinfo: Path = Path("/proc/cpuinfo")) -> float | None:
    """The cores' clock at this moment, as a mean over them; None where the kernel does not tell, as on ARM."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    clocks = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return mean(clocks) if clocks else None


def first_and_last_third(looks: Sequence[float]) -> tuple[float, float] | None:
    """Means of the clock early and late in a load; None for a handful of looks."""
    third = len(looks) // 3
    return (mean(looks[:third]), mean(looks[-third:])) if len(looks) >= LOOKS_MIN else None


def stopped_s(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Seconds for which a CPU limit has stopped our control group so far; None where no file tells.

    Servers of the lab are our children and in the same group.
    """
    try:
        lines = groups.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = path.lstrip("/")
        if controllers == "":
            # In a container the group is often mounted as the root of what is seen.
            places = [mounted / inside, mounted]
        elif "cpu" in controllers.split(","):
            places = [mounted / "cpu" / inside, mounted / controllers / inside, mounted / "cpu"]
        else:
            continue
        found = next((value for place in places if (value := _stopped_s(place / "cpu.stat")) is not None), None)
        if found is not None:
            return found
    return None


def _stopped_s(file: Path) -> float | None:
    """The second version of control groups counts microseconds, the first one nanoseconds."""
    try:
        rows = dict(line.split() for line in file.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in rows:
        return int(rows["throttled_usec"]) / 1e6
    return int(rows["throttled_time"]) / 1e9 if "throttled_time" in rows else None
