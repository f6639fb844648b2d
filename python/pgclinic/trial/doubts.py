"""Reasons to distrust a trial, from what it recorded. Pure."""

from __future__ import annotations

from pgclinic.load.by_second import transactions_by_second
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.sample import Samples
from pgclinic.model.trial import CpuUse, Doubt, DoubtKind, TrialSpec
from pgclinic.trial.finding import Finding
from pgclinic.trial.machine_doubts import (
    io_pressure,
    memory_pressure,
    observers_cost,
    server_not_visible,
    slower_clock,
    stopped_by_quota,
    stopped_load,
)
from pgclinic.trial.steadiness import no_steady_state, warm_up_unfinished

# Below these the noise of an ordinary desktop would be called a doubt.
OTHERS_SHARE = 0.15
PRESSURE_SHARE = 0.20
CLIENT_BOUND_SHARE = 0.90
FAILED_SHARE = 0.01
SHORT_SHARE = 0.98
# Serialization failures and deadlocks.
CONFLICTS = frozenset({"40001", "40P01"})
# Samples of the server and seconds of the load are put side by side by the wall clock, second by second.
CLOCK_JUMP_S = 0.5


def find_doubts(
    spec: TrialSpec, load: LoadResult, cpu: CpuUse | None, samples: Samples, *, settled: bool = True
) -> tuple[Doubt, ...]:
    """All doubts that this trial's own record raises. ``settled`` is False where a warm-up by state ended without."""
    found = [
        _starved(cpu),
        _client_bound(spec.load, load),
        _failed(spec.load, load),
        _short(spec.load, load),
        _no_counters(samples),
        _clock_jump(cpu),
        _throttled(cpu),
        _told(DoubtKind.SERVER_NOT_VISIBLE, server_not_visible(cpu) if cpu is not None else None),
        _told(DoubtKind.STOPPED_LOAD, stopped_load(load)),
        _told(DoubtKind.OBSERVERS_COST, observers_cost(cpu) if cpu is not None else None),
        _told(DoubtKind.MEMORY_PRESSURE, memory_pressure(cpu) if cpu is not None else None),
        _told(DoubtKind.IO_PRESSURE, io_pressure(cpu) if cpu is not None else None),
        _told(DoubtKind.NO_STEADY_STATE, _unsteady(spec, load, settled=settled)),
    ]
    return tuple(doubt for doubt in found if doubt is not None)


def _told(kind: DoubtKind, finding: Finding | None) -> Doubt | None:
    return finding.as_doubt(kind) if finding is not None else None


def _unsteady(spec: TrialSpec, load: LoadResult, *, settled: bool) -> Finding | None:
    """A warm-up that was to end by state and took all of its time says the more about why."""
    unfinished = warm_up_unfinished(settled, load.warm_up_s)
    return unfinished or no_steady_state(transactions_by_second(load), spec.condition)


def _throttled(cpu: CpuUse | None) -> Doubt | None:
    """A CPU limit says it with certainty, so it goes before the clock."""
    if cpu is None:
        return None
    by_limit = stopped_by_quota(cpu.stopped_s, cpu.elapsed_s) if cpu.stopped_s is not None else None
    by_clock = None
    if cpu.megahertz_early is not None and cpu.megahertz_late is not None:
        by_clock = slower_clock(cpu.megahertz_early, cpu.megahertz_late)
    return _told(DoubtKind.THROTTLING, by_limit or by_clock)


def _starved(cpu: CpuUse | None) -> Doubt | None:
    """Others took CPU that the trial was waiting for: both must hold, an idle neighbour's CPU harms nobody."""
    if cpu is None or cpu.elapsed_s <= 0 or cpu.server_s is None:
        # Where the server's processes are not visible they may be the others.
        return None
    share = cpu.others_s / (cpu.elapsed_s * cpu.cores)
    pressed = cpu.pressure_share is None or cpu.pressure_share >= PRESSURE_SHARE
    if share < OTHERS_SHARE or not pressed:
        return None
    obtained = cpu.server_s + cpu.client_s
    return Doubt(
        kind=DoubtKind.STARVED_CPU,
        text=f"other processes took {share:.0%} of the CPU; server and load obtained {obtained:.1f} of "
        f"{cpu.elapsed_s * cpu.cores:.1f} CPU seconds",
        advice="stop what else runs on this machine and repeat",
        share=share,
    )


def _client_bound(spec: LoadSpec, load: LoadResult) -> Doubt | None:
    if load.measured_s <= 0:
        return None
    share = (load.client_cpu_user_s + load.client_cpu_system_s) / (load.measured_s * spec.threads)
    if share < CLIENT_BOUND_SHARE:
        return None
    return Doubt(
        kind=DoubtKind.CLIENT_BOUND,
        text=f"the load engine's {spec.threads} thread(s) were busy {share:.0%} of the time",
        advice="use more threads: the figure is the engine's limit, not the server's",
        share=share,
    )


def _failed(spec: LoadSpec, load: LoadResult) -> Doubt | None:
    # Terminals that write the same rows under strict isolation must fail now and then: that is TPC-C, no illness.
    expected = CONFLICTS if spec.tpcc is not None else frozenset()
    failed = load.failed - sum(failure.count for failure in load.failures if failure.sqlstate in expected)
    tried = load.transactions + failed
    if tried == 0 or failed / tried < FAILED_SHARE:
        return None
    states = ", ".join(sorted({failure.sqlstate for failure in load.failures} - expected))
    return Doubt(
        kind=DoubtKind.FAILED_TRANSACTIONS,
        text=f"{failed:,} of {tried:,} transactions failed ({states})",
        advice="throughput counts commits only; look at the failures in the record",
        share=failed / tried,
    )


def _short(spec: LoadSpec, load: LoadResult) -> Doubt | None:
    if spec.measure_s is None or load.measured_s >= SHORT_SHARE * spec.measure_s:
        return None
    return Doubt(
        kind=DoubtKind.SHORT_TRIAL,
        text=f"measured {load.measured_s:.1f} s of {spec.measure_s:.1f} s ({load.stopped})",
        advice="see why the load ended early",
        share=load.measured_s / spec.measure_s,
    )


def _no_counters(samples: Samples) -> Doubt | None:
    if len(samples.of("database")) >= 2:
        return None
    return Doubt(
        kind=DoubtKind.NO_COUNTERS,
        text="the server's counters could not be read",
        advice="the server may be too slow to answer in time; the mechanism cannot be shown",
    )


def _clock_jump(cpu: CpuUse | None) -> Doubt | None:
    if cpu is None or abs(cpu.clock_jump_s) < CLOCK_JUMP_S:
        return None
    return Doubt(
        kind=DoubtKind.CLOCK_JUMP,
        text=f"the wall clock was set by {cpu.clock_jump_s:+.1f} s while the trial ran",
        advice="TPS are by the steady clock and stand; distrust what is aligned by time, and repeat",
    )
