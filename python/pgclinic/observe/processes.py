"""CPU time that a server obtained, and how contended the processors were, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

from pgclinic.errors import ServerLostError
from pgclinic.model.record import Record
from pgclinic.observe.proc_files import process_numbers

_PROC = Path("/proc")
#: Of <mach/host_info.h>.
_HOST_CPU_LOAD_INFO, _MACH_TICKS = 3, 4
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class MachineCpu(Record):
    """Seconds since boot, summed over all processors. ``steal_s`` is what another virtual machine took."""

    busy_s: float
    steal_s: float
    idle_s: float


class CpuPressure(Record):
    """``some_us`` is the time since boot in which at least one task waited for a processor, in microseconds."""

    some_us: int


def cpu_seconds(postmaster_pid: int) -> float:
    """User and system CPU seconds of a server so far: the postmaster, its children, and those it has reaped.

    Raises ServerLostError when the postmaster is gone.
    """
    while True:
        own = _stat(postmaster_pid)
        if own is None:
            raise ServerLostError(f"process {postmaster_pid} is gone")
        ticks = sum(own[11:15]) + _ticks_of_children(postmaster_pid)
        after = _stat(postmaster_pid)
        # A child reaped in between is in neither of the two sums, and it may have done most of the work.
        if after is None or after[13:15] == own[13:15]:
            return ticks / _TICKS_PER_S


def _ticks_of_children(postmaster_pid: int) -> int:
    ticks = 0
    for pid in _children(postmaster_pid):
        child = _stat(pid)
        if child is not None and child[1] == postmaster_pid:
            # A child's own children (an archive command) count once it has reaped them.
            ticks += sum(child[11:15])
    return ticks


def machine_cpu() -> MachineCpu:
    """What all processors did since boot."""
    try:
        line = (_PROC / "stat").read_text().splitlines()[0]
    except FileNotFoundError:
        return _mach_cpu()
    user, nice, system, idle, iowait, irq, softirq, steal = (int(field) for field in line.split()[1:9])
    return MachineCpu(
        busy_s=(user + nice + system + irq + softirq) / _TICKS_PER_S,
        steal_s=steal / _TICKS_PER_S,
        idle_s=(idle + iowait) / _TICKS_PER_S,
    )


def _mach_cpu() -> MachineCpu:
    """From macOS: host_statistics counts ticks of user, system, idle and nice since boot."""
    import ctypes

    system = ctypes.CDLL(None)
    ticks, count = (ctypes.c_uint * _MACH_TICKS)(), ctypes.c_uint(_MACH_TICKS)
    failed = system.host_statistics(system.mach_host_self(), _HOST_CPU_LOAD_INFO, ticks, ctypes.byref(count))
    user, kernel, idle, nice = [0] * _MACH_TICKS if failed else list(ticks)
    return MachineCpu(busy_s=(user + kernel + nice) / _TICKS_PER_S, steal_s=0.0, idle_s=idle / _TICKS_PER_S)


def kernel_threads_s() -> float:
    """CPU seconds of the kernel's own threads so far; 0 where they are not visible, as in a container.

    They write back, reclaim and watch memory for all processes together, so no program's share of them is known.
    """
    try:
        if (_PROC / "2/comm").read_text().strip() != "kthreadd":
            return 0.0
    except OSError:
        return 0.0
    stats = (_stat(pid) for pid in _children(2))
    return sum(sum(stat[11:13]) for stat in stats if stat is not None and stat[1] == 2) / _TICKS_PER_S


def cpu_pressure() -> CpuPressure | None:
    """How long tasks had to wait for a processor since boot; None where the kernel does not tell."""
    some_us = waited_us("cpu")
    return CpuPressure(some_us=some_us) if some_us is not None else None


def waited_us(resource: str) -> int | None:
    """Microseconds since boot in which at least one task waited for ``resource``: cpu, memory or io.

    None where the kernel does not report pressure.
    """
    try:
        text = (_PROC / "pressure" / resource).read_text()
    except OSError:
        return None
    some = next(line for line in text.splitlines() if line.startswith("some"))
    return int(some.rpartition("total=")[2])


def swapped_bytes() -> int | None:
    """Bytes that the machine has swapped in and out since boot; None where the kernel does not report them."""
    try:
        lines = (_PROC / "vmstat").read_text().splitlines()
    except OSError:
        return None
    pages = [int(line.split()[1]) for line in lines if line.startswith(("pswpin ", "pswpout "))]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") if pages else None


def _children(pid: int) -> list[int]:
    """The kernel lists them per thread; without that list every process is asked for its parent."""
    try:
        return [int(word) for word in (_PROC / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return process_numbers()


def _stat(pid: int) -> list[int] | None:
    """The fields after the command's name, its state, a letter, as 0. Parent is 1, utime to cstime are 11 to 14."""
    try:
        text = (_PROC / f"{pid}/stat").read_text()
    except OSError:
        return None
    return [0, *(int(field) for field in text.rpartition(")")[2].split()[1:])]
