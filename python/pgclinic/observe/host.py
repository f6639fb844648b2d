"""The machine of a server that runs here: read twice with a pause between, so that counters become shares."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import ServerLostError
from pgclinic.model.host import HostProcess, HostState
from pgclinic.model.processes import ProcessRow
from pgclinic.observe.control_group import ControlGroup, control_group
from pgclinic.observe.filesystems import filesystems_of
from pgclinic.observe.host_files import (
    CpuTicks,
    Pressure,
    cpu_ticks,
    first_line,
    meminfo,
    pressure,
    selected,
    vmstat,
    whole,
)
from pgclinic.observe.process_table import processes_now

_PROC, _SYS = Path("/proc"), Path("/sys")
_VM = _PROC / "sys/vm"
_CPU = _SYS / "devices/system/cpu"
_RESOURCES = ("cpu", "memory", "io")
_PAGE_TABLES = re.compile(r"^VmPTE:\s+(\d+) kB$", re.MULTILINE)
#: Counters that are wanted as rates.
_SWAPPED = ("pswpin", "pswpout")


@dataclass(frozen=True)
class _HostLook:
    """Counters at one moment."""

    at_s: float
    cpu: CpuTicks | None
    vm: Mapping[str, int]
    pressure: Mapping[str, Pressure]
    group: ControlGroup
    processes: tuple[ProcessRow, ...]


def watch_host(postmaster: int, observe_s: float = 0.0) -> HostState | None:
    """The machine of the server with this postmaster, None when it has gone meanwhile.

    It takes ``observe_s``; run it beside the snapshot. Without that time counters give no shares.
    """
    try:
        before = _look(postmaster)
        time.sleep(observe_s)
        after = _look(postmaster) if observe_s else before
    except (ServerLostError, OSError):
        return None
    return _state(postmaster, before, after)


def _look(postmaster: int) -> _HostLook:
    pressures = {
        f"{resource}_{kind}": found
        for resource in _RESOURCES
        for kind, found in pressure(_text(_PROC / "pressure" / resource)).items()
    }
    return _HostLook(
        at_s=time.monotonic(),
        cpu=cpu_ticks(_text(_PROC / "stat")),
        vm=vmstat(_text(_PROC / "vmstat")),
        pressure=pressures,
        group=control_group(_text(_PROC / str(postmaster) / "cgroup"), _SYS / "fs/cgroup"),
        processes=processes_now(postmaster),
    )


def _state(postmaster: int, before: _HostLook, after: _HostLook) -> HostState:
    memory = meminfo(_text(_PROC / "meminfo"))
    watched_s = after.at_s - before.at_s
    processors = os.cpu_count() or 1
    processes = _processes(before, after, watched_s)
    used = [process.cpu_share for process in processes if process.cpu_share is not None]
    return HostState(
        observed_s=watched_s,
        processors=processors,
        memory_bytes=memory.get("MemTotal", 0),
        memory_available_bytes=memory.get("MemAvailable", memory.get("MemFree", 0)),
        swap_bytes=memory.get("SwapTotal", 0),
        swap_free_bytes=memory.get("SwapFree", 0),
        swapped_pages_per_s=_rate(before, after, _SWAPPED),
        page_table_bytes=memory.get("PageTables"),
        cpu_idle_share=_share(before.cpu, after.cpu, "idle"),
        cpu_stolen_share=_share(before.cpu, after.cpu, "stolen"),
        cpu_iowait_share=_share(before.cpu, after.cpu, "iowait"),
        load_1m=os.getloadavg()[0],
        overcommit=whole(first_line(_VM / "overcommit_memory")),
        overcommit_ratio=whole(first_line(_VM / "overcommit_ratio")),
        huge_pages=memory.get("HugePages_Total"),
        huge_pages_free=memory.get("HugePages_Free"),
        huge_page_bytes=memory.get("Hugepagesize"),
        transparent_huge_pages=selected(first_line(_SYS / "kernel/mm/transparent_hugepage/enabled")),
        dirty_background_ratio=whole(first_line(_VM / "dirty_background_ratio")),
        dirty_ratio=whole(first_line(_VM / "dirty_ratio")),
        dirty_background_bytes=whole(first_line(_VM / "dirty_background_bytes")),
        swappiness=whole(first_line(_VM / "swappiness")),
        zone_reclaim=whole(first_line(_VM / "zone_reclaim_mode")),
        clock_source=first_line(_SYS / "devices/system/clocksource/clocksource0/current_clocksource"),
        governor=first_line(_CPU / "cpu0/cpufreq/scaling_governor"),
        autogroup={"0": False, "1": True}.get(first_line(_PROC / "sys/kernel/sched_autogroup_enabled") or ""),
        group_processors=after.group.processors,
        group_memory_bytes=after.group.memory_bytes,
        group_throttled_share=_throttled(before.group, after.group),
        pressure=_pressures(before, after, watched_s),
        processes=processes,
        filesystems=filesystems_of(postmaster),
        kernel=platform.release(),
        server_cpu_share=sum(used) / processors if used else None,
        server_page_table_bytes=_page_tables(processes),
        group_memory_used_bytes=after.group.memory_used_bytes,
        group_oom_kills=after.group.oom_kills,
        oom_kills=after.vm.get("oom_kill"),
        committed_bytes=memory.get("Committed_AS"),
        commit_limit_bytes=memory.get("CommitLimit"),
        reclaim_stalls_per_s=_rate(before, after, ("allocstalls",)),
        compaction_stalls_per_s=_rate(before, after, ("compact_stall",)),
        clock_sources=tuple(
            (first_line(_SYS / "devices/system/clocksource/clocksource0/available_clocksource") or "").split()
        ),
        governor_driver=first_line(_CPU / "cpu0/cpufreq/scaling_driver"),
        clock_share=_clock_share(),
    )


def _processes(before: _HostLook, after: _HostLook, watched_s: float) -> tuple[HostProcess, ...]:
    used = {process.pid: process.use.cpu_s for process in before.processes}
    return tuple(
        HostProcess(
            pid=process.pid,
            kind=process.kind.value,
            cpu_share=max(process.use.cpu_s - used.get(process.pid, 0.0), 0.0) / watched_s if watched_s > 0 else None,
            memory_bytes=process.rss_anon_bytes,
            niceness=_niceness(process.pid),
            oom_score_adj=whole(first_line(_PROC / str(process.pid) / "oom_score_adj")),
        )
        for process in after.processes
    )


def _share(before: CpuTicks | None, after: CpuTicks | None, name: str) -> float | None:
    if before is None or after is None or after.total <= before.total:
        return None
    # The kernel lets a counter of idle time go back by a tick.
    used: int = getattr(after, name) - getattr(before, name)
    return max(used, 0) / (after.total - before.total)


def _rate(before: _HostLook, after: _HostLook, names: tuple[str, ...]) -> float | None:
    """Of counters of /proc/vmstat together; None where the kernel has none of them."""
    known = [name for name in names if name in after.vm]
    if not known or after.at_s <= before.at_s:
        return None
    return sum(after.vm[name] - before.vm.get(name, 0) for name in known) / (after.at_s - before.at_s)


def _throttled(before: ControlGroup, after: ControlGroup) -> float | None:
    if after.periods is None or before.periods is None or after.periods <= before.periods:
        return None
    return ((after.throttled_periods or 0) - (before.throttled_periods or 0)) / (after.periods - before.periods)


def _pressures(before: _HostLook, after: _HostLook, watched_s: float) -> dict[str, float]:
    found = {}
    for name, now in after.pressure.items():
        share = now.share
        if watched_s > 0 and name in before.pressure:
            share = min((now.total_us - before.pressure[name].total_us) / 1e6 / watched_s, 1.0)
        found[name.removesuffix("_some")] = share
    # Of processors the kernel writes a line for all processes that means nothing.
    found.pop("cpu_full", None)
    return found


def _page_tables(processes: tuple[HostProcess, ...]) -> int | None:
    sizes = [int(found[1]) * 1024 for process in processes if (found := _PAGE_TABLES.search(_status(process.pid)))]
    return sum(sizes) if sizes else None


def _clock_share() -> float | None:
    """None where the kernel does not know the clock, as in most virtual machines."""
    shares = []
    for folder in _CPU.glob("cpu[0-9]*/cpufreq"):
        now, highest = whole(first_line(folder / "scaling_cur_freq")), whole(first_line(folder / "cpuinfo_max_freq"))
        if now is not None and highest:
            shares.append(now / highest)
    return sum(shares) / len(shares) if shares else None


def _niceness(pid: int) -> int | None:
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return None


def _status(pid: int) -> str:
    return _text(_PROC / str(pid) / "status")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
