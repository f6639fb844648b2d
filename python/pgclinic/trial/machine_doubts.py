"""Doubts about the machine and about those who watch: throttling, the observer's cost, too few events. Pure."""

from __future__ import annotations

from pgclinic.model.load import LoadResult
from pgclinic.model.run import Machine
from pgclinic.model.trial import CpuUse
from pgclinic.trial.finding import Finding

#: Below this a clock that breathes with the load would be called throttling.
SLOWER_CLOCK_SHARE = 0.10
#: A control group that was stopped for this share of the time ran against its CPU limit.
STOPPED_SHARE = 0.05
#: Watching that takes more of the CPU than this changes what is watched.
OBSERVER_SHARE = 0.03
# A trial that does next to nothing is not disturbed by watchers that do hardly more.
OBSERVER_MACHINE_SHARE = 0.01
#: Memory is short where some process waits for it for this share of the time, or this much is swapped.
MEMORY_SHARE = 0.02
SWAPPED_BYTES = 8 * 1024**2
#: A load that writes waits for its own I/O as well; beyond this the disk sets the figures.
IO_SHARE = 0.40
#: A load that stood still for this share of its time has lost as many transactions, and its percentiles a second.
PAUSED_SHARE = 0.01
#: From here on it is no measurement.
PAUSED_SHARE_MAX = 0.10
#: Fewer events than this call for exact Poisson limits: their log ratio is far from normal.
EVENTS_MIN = 30


def slower_clock(megahertz_before: float, megahertz_after: float) -> Finding | None:
    """The cores' clock, as a mean over all of them under load, fell while the trial ran: heat or a power limit."""
    if megahertz_before <= 0:
        return None
    share = 1.0 - megahertz_after / megahertz_before
    if share < SLOWER_CLOCK_SHARE:
        return None
    return Finding(
        text=f"the clock of the cores fell from {megahertz_before:.0f} to {megahertz_after:.0f} MHz under load",
        advice="let the machine cool down, or fix the frequency, so that the arms get the same cores",
        share=share,
    )


def stopped_by_quota(stopped_s: float, elapsed_s: float) -> Finding | None:
    """The control group's CPU limit stopped the processes: ``stopped_s`` is cpu.stat's throttled time over the trial.

    The kernel sums it over the group's queues, one a core, so it may exceed the time that went by.
    """
    if elapsed_s <= 0:
        return None
    share = min(1.0, stopped_s / elapsed_s)
    if share < STOPPED_SHARE:
        return None
    return Finding(
        text=f"a CPU limit stopped the processes for {stopped_s:.1f} of {elapsed_s:.1f} s",
        advice="lift the limit of the container, or leave cores to spare: the limit is what was measured",
        share=share,
    )


def stopped_load(load: LoadResult) -> Finding | None:
    """The engine's process, or the whole machine, stood still while it measured."""
    if load.measured_s <= 0:
        return None
    share = min(1.0, load.paused_s / load.measured_s)
    if share < PAUSED_SHARE:
        return None
    return Finding(
        text=f"pgclinic was stopped for {load.paused_s:.1f} of {load.measured_s:.1f} s, the longest time "
        f"{load.longest_pause_s:.1f} s",
        advice="leave it in the foreground, and keep the machine or virtual machine from being suspended",
        share=share,
    )


def observers_cost(cpu: CpuUse) -> Finding | None:
    """Watching took CPU that the server would have had."""
    if cpu.server_s is None:
        # What the server used is not known, and so neither is the observers' share of it all.
        return None
    used_s = cpu.server_s + cpu.client_s + cpu.observer_s
    hardly = cpu.observer_s < OBSERVER_MACHINE_SHARE * cpu.elapsed_s * cpu.cores
    if used_s <= 0 or hardly or cpu.observer_s / used_s < OBSERVER_SHARE:
        return None
    share = cpu.observer_s / used_s
    return Finding(
        text=f"watching took {cpu.observer_s:.1f} CPU seconds, {share:.0%} of all that the trial used",
        advice="sample less often; compare with a trial that is not watched",
        share=share,
    )


def server_not_visible(cpu: CpuUse) -> Finding | None:
    """Nothing shows what the server used of its machine, nor whether others took it away."""
    if cpu.server_s is not None:
        return None
    return Finding(
        text="the server's processes are not visible from this machine: its CPU is not known, nor who competes for it",
        advice="run pgclinic on the server's machine, or make sure that nothing else runs there",
    )


def memory_pressure(cpu: CpuUse) -> Finding | None:
    """The machine was short of memory while the trial ran: pages were reclaimed or swapped under the server."""
    share, swapped = cpu.memory_pressure_share or 0.0, cpu.swapped_bytes or 0
    if share < MEMORY_SHARE and swapped < SWAPPED_BYTES:
        return None
    parts = [f"processes waited for memory {share:.0%} of the time"] if share >= MEMORY_SHARE else []
    parts += [f"{swapped / 1e6:,.0f} MB were swapped"] if swapped >= SWAPPED_BYTES else []
    return Finding(
        text=" and ".join(parts),
        advice="stop what else uses memory, or give the server less: what was measured is the machine's swapping",
        share=share,
    )


def io_pressure(cpu: CpuUse) -> Finding | None:
    """Processes waited for I/O so long that the disk, and whoever shares it, sets the figures."""
    share = cpu.io_pressure_share
    if share is None or share < IO_SHARE:
        return None
    return Finding(
        text=f"processes waited for I/O {share:.0%} of the time",
        advice="see that nothing else uses this disk; a ratio that rests on fsync holds for this disk only",
        share=share,
    )


def too_few_events(load: LoadResult) -> Finding | None:
    """So few transactions that chance alone moves the rate by a fifth and more."""
    if load.transactions >= EVENTS_MIN:
        return None
    return Finding(
        text=f"only {load.transactions} transactions ended in {load.measured_s:.0f} s",
        advice=f"measure until {EVENTS_MIN} have ended, or count statements instead of transactions",
    )


#: What makes two machines different to a benchmark. The governor and autogroup may be changed between two runs.
_COMPARED = ("cpu_model", "cores", "memory_bytes", "kernel", "governor", "autogroup", "architecture")
#: A reserved part of the memory may change its size from boot to boot.
_MEMORY_SHARE = 0.02


def different_machine(one: Machine, other: Machine) -> Finding | None:
    """Two runs that are to be compared, or judged together, came from different machines."""
    apart = [name for name in _COMPARED if not _same(name, getattr(one, name), getattr(other, name))]
    if not apart:
        return None
    told = "; ".join(f"{_spoken(name)} {getattr(one, name)} and {getattr(other, name)}" for name in apart)
    return Finding(
        text=f"the runs are from different machines: {told}",
        advice="compare ratios, never TPS: what differs between the machines differs between the runs",
    )


def _same(name: str, one: object, other: object) -> bool:
    if one is None or other is None:
        # What could not be read says nothing.
        return True
    if name == "memory_bytes" and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= _MEMORY_SHARE * max(one, other)
    return one == other


def _spoken(name: str) -> str:
    return {"cpu_model": "CPU", "memory_bytes": "bytes of memory"}.get(name, name)
