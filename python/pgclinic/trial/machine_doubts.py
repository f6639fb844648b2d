"""Doubts about the machine and about those who watch: throttling, the observer's cost, too few events. Pure."""

from __future__ import annotations

from pgclinic.model.doubt import (
    ClockSlowed,
    DiskContended,
    Doubt,
    DoubtKind,
    FewEvents,
    LoadPaused,
    MachineDifference,
    MachinesDiffer,
    MemoryShort,
    ObserversCpu,
    ServerHidden,
    StoppedByQuota,
)
from pgclinic.model.load import LoadResult
from pgclinic.model.machine import Machine
from pgclinic.model.sample import Samples
from pgclinic.model.trial import CpuUse

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
#: A server that waits for the disk less than this does not depend on it.
IO_SERVER_SHARE = 0.05
#: A load that stood still for this share of its time has lost as many transactions, and its percentiles a second.
PAUSED_SHARE = 0.01
#: From here on it is no measurement.
PAUSED_SHARE_MAX = 0.10
#: Fewer events than this call for exact Poisson limits: their log ratio is far from normal.
EVENTS_MIN = 30


def slower_clock(megahertz_before: float, megahertz_after: float) -> Doubt | None:
    """The cores' clock, as a mean over all of them under load, fell while the trial ran: heat or a power limit."""
    if megahertz_before <= 0:
        return None
    share = 1.0 - megahertz_after / megahertz_before
    if share < SLOWER_CLOCK_SHARE:
        return None
    return Doubt(
        kind=DoubtKind.THROTTLING,
        share=share,
        facts=ClockSlowed(megahertz_early=megahertz_before, megahertz_late=megahertz_after),
    )


def stopped_by_quota(stopped_s: float, elapsed_s: float) -> Doubt | None:
    """The control group's CPU limit stopped the processes: ``stopped_s`` is cpu.stat's throttled time over the trial.

    The kernel sums it over the group's queues, one a core, so it may exceed the time that went by.
    """
    if elapsed_s <= 0:
        return None
    share = min(1.0, stopped_s / elapsed_s)
    if share < STOPPED_SHARE:
        return None
    return Doubt(kind=DoubtKind.THROTTLING, share=share, facts=StoppedByQuota(stopped_s=stopped_s, elapsed_s=elapsed_s))


def stopped_load(load: LoadResult) -> Doubt | None:
    """The engine's process, or the whole machine, stood still while it measured."""
    if load.measured_s <= 0:
        return None
    share = min(1.0, load.paused_s / load.span_s)
    if share < PAUSED_SHARE:
        return None
    return Doubt(
        kind=DoubtKind.STOPPED_LOAD,
        share=share,
        facts=LoadPaused(paused_s=load.paused_s, measured_s=load.span_s, longest_s=load.longest_pause_s),
    )


def observers_cost(cpu: CpuUse) -> Doubt | None:
    """Watching took CPU that the server would have had."""
    if cpu.server_s is None:
        # What the server used is not known, and so neither is the observers' share of it all.
        return None
    used_s = cpu.server_s + cpu.client_s + cpu.observer_s
    hardly = cpu.observer_s < OBSERVER_MACHINE_SHARE * cpu.elapsed_s * cpu.cores
    if used_s <= 0 or hardly or cpu.observer_s / used_s < OBSERVER_SHARE:
        return None
    share = cpu.observer_s / used_s
    return Doubt(kind=DoubtKind.OBSERVERS_COST, share=share, facts=ObserversCpu(observer_s=cpu.observer_s))


def server_not_visible(cpu: CpuUse) -> Doubt | None:
    """Nothing shows what the server used of its machine, nor whether others took it away."""
    if cpu.server_s is not None:
        return None
    return Doubt(kind=DoubtKind.SERVER_NOT_VISIBLE, facts=ServerHidden())


def memory_pressure(cpu: CpuUse) -> Doubt | None:
    """The machine was short of memory while the trial ran: pages were reclaimed or swapped under the server."""
    share, swapped = cpu.memory_pressure_share or 0.0, cpu.swapped_bytes or 0
    if share < MEMORY_SHARE and swapped < SWAPPED_BYTES:
        return None
    return Doubt(
        kind=DoubtKind.MEMORY_PRESSURE,
        share=share,
        facts=MemoryShort(
            waiting_share=share if share >= MEMORY_SHARE else None,
            swapped_bytes=swapped if swapped >= SWAPPED_BYTES else None,
        ),
    )


def io_pressure(cpu: CpuUse, samples: Samples) -> Doubt | None:
    """The server waited for the disk, and other processes waited for it far more: something else uses it.

    A load that waits for its own fsync is an ordinary one, so the share of the samples in which a process of the server
    waited for I/O is taken off. A server that does not wait for the disk is not slowed by those that do.
    """
    share, own = cpu.io_pressure_share, _server_waits_for_io(samples)
    if share is None or own < IO_SERVER_SHARE or share - own < IO_SHARE:
        return None
    return Doubt(kind=DoubtKind.IO_PRESSURE, share=share, facts=DiskContended(server_share=own))


def _server_waits_for_io(samples: Samples) -> float:
    """The share of the samples in which some process of the server waited for a file; 0 where nothing was sampled."""
    taken = samples.of("activity")
    waiting = sum(any(row.get("wait_event_type") == "IO" for row in sample.rows) for sample in taken)
    return waiting / len(taken) if taken else 0.0


def too_few_events(load: LoadResult) -> Doubt | None:
    """So few transactions that chance alone moves the rate by a fifth and more."""
    if load.transactions >= EVENTS_MIN:
        return None
    return Doubt(
        kind=DoubtKind.TOO_FEW_EVENTS,
        facts=FewEvents(transactions=load.transactions, measured_s=load.measured_s, wanted=EVENTS_MIN),
    )


#: What makes two machines different to a benchmark. The governor and autogroup may be changed between two runs.
_COMPARED = ("cpu_model", "cores", "memory_bytes", "kernel", "governor", "autogroup", "architecture")
#: A reserved part of the memory may change its size from boot to boot.
_MEMORY_SHARE = 0.02


def different_machine(one: Machine, other: Machine) -> Doubt | None:
    """Two runs that are to be compared, or judged together, came from different machines."""
    apart = [
        MachineDifference(what=name, one=getattr(one, name), other=getattr(other, name))
        for name in _COMPARED
        if not _same(name, getattr(one, name), getattr(other, name))
    ]
    if not apart:
        return None
    return Doubt(kind=DoubtKind.DIFFERENT_MACHINE, facts=MachinesDiffer(apart=tuple(apart)))


def _same(name: str, one: object, other: object) -> bool:
    if one is None or other is None:
        # What could not be read says nothing.
        return True
    if name == "memory_bytes" and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= _MEMORY_SHARE * max(one, other)
    return one == other
