"""Reasons to distrust a trial, from what it recorded. Pure."""

from __future__ import annotations

from pgclinic.load.by_second import transactions_by_second
from pgclinic.model.doubt import (
    ClockSet,
    CountersMissing,
    CpuTaken,
    Doubt,
    DoubtKind,
    EngineBusy,
    LoadEndedEarly,
    ServerRestarted,
    TransactionsFailed,
)
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.resting import RestingUse
from pgclinic.model.sample import Samples
from pgclinic.model.traffic import TpccTraffic
from pgclinic.model.trial import CpuUse, TrialSpec
from pgclinic.trial.bleeding import bled_into_window
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
    spec: TrialSpec,
    load: LoadResult,
    cpu: CpuUse | None,
    samples: Samples,
    *,
    settled: bool = True,
    restart: str | None = None,
    resting: RestingUse | None = None,
) -> tuple[Doubt, ...]:
    """All doubts that this trial's own record raises.

    ``settled`` is False where a warm-up by state ended without; ``restart`` says that the server did not last;
    ``resting`` is of interleaved trials alone.
    """
    found = [
        _restarted(restart),
        _starved(cpu),
        _client_bound(spec.load, load),
        _failed(spec, load),
        _short(spec, load),
        _no_counters(samples),
        _clock_jump(cpu),
        _throttled(cpu),
        server_not_visible(cpu) if cpu is not None else None,
        stopped_load(load),
        observers_cost(cpu) if cpu is not None else None,
        memory_pressure(cpu) if cpu is not None else None,
        io_pressure(cpu, samples) if cpu is not None else None,
        bled_into_window(resting),
        _unsteady(spec, load, settled=settled),
    ]
    return tuple(doubt for doubt in found if doubt is not None)


def _unsteady(spec: TrialSpec, load: LoadResult, *, settled: bool) -> Doubt | None:
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
    return by_limit or by_clock


def _restarted(restart: str | None) -> Doubt | None:
    if restart is None:
        return None
    return Doubt(kind=DoubtKind.SERVER_RESTARTED, facts=ServerRestarted(seen=restart))


def _starved(cpu: CpuUse | None) -> Doubt | None:
    """Others took CPU that the trial was waiting for: both must hold, an idle neighbour's CPU harms nobody."""
    if cpu is None or cpu.elapsed_s <= 0 or cpu.server_s is None:
        # Where the server's processes are not visible they may be the others.
        return None
    share = cpu.others_s / (cpu.elapsed_s * cpu.cores)
    pressed = cpu.pressure_share is None or cpu.pressure_share >= PRESSURE_SHARE
    if share < OTHERS_SHARE or not pressed:
        return None
    return Doubt(
        kind=DoubtKind.STARVED_CPU,
        share=share,
        facts=CpuTaken(obtained_s=cpu.server_s + cpu.client_s, available_s=cpu.elapsed_s * cpu.cores),
    )


def _client_bound(spec: LoadSpec, load: LoadResult) -> Doubt | None:
    if load.measured_s <= 0:
        return None
    share = (load.client_cpu_user_s + load.client_cpu_system_s) / (load.loaded_s * spec.threads)
    if share < CLIENT_BOUND_SHARE:
        return None
    return Doubt(kind=DoubtKind.CLIENT_BOUND, share=share, facts=EngineBusy(threads=spec.threads))


def _failed(spec: TrialSpec, load: LoadResult) -> Doubt | None:
    # Terminals that write the same rows under strict isolation must fail now and then: that is TPC-C, no illness.
    expected = CONFLICTS if isinstance(spec.traffic, TpccTraffic) else frozenset()
    failed = load.failed - sum(failure.count for failure in load.failures if failure.sqlstate in expected)
    tried = load.transactions + failed
    if tried == 0 or failed / tried < FAILED_SHARE:
        return None
    states = tuple(sorted({failure.sqlstate for failure in load.failures} - expected))
    return Doubt(
        kind=DoubtKind.FAILED_TRANSACTIONS,
        share=failed / tried,
        facts=TransactionsFailed(failed=failed, tried=tried, sqlstates=states),
    )


def _short(spec: TrialSpec, load: LoadResult) -> Doubt | None:
    wanted_s = spec.load.measure_s
    # One that may end as soon as enough is known is not cut short by that.
    if wanted_s is None or spec.stop is not None or load.measured_s >= SHORT_SHARE * wanted_s:
        return None
    return Doubt(
        kind=DoubtKind.SHORT_TRIAL,
        share=load.measured_s / wanted_s,
        facts=LoadEndedEarly(measured_s=load.measured_s, wanted_s=wanted_s, stopped=load.stopped),
    )


def _no_counters(samples: Samples) -> Doubt | None:
    if len(samples.of("database")) >= 2:
        return None
    return Doubt(kind=DoubtKind.NO_COUNTERS, facts=CountersMissing())


def _clock_jump(cpu: CpuUse | None) -> Doubt | None:
    if cpu is None or abs(cpu.clock_jump_s) < CLOCK_JUMP_S:
        return None
    return Doubt(kind=DoubtKind.CLOCK_JUMP, facts=ClockSet(by_s=cpu.clock_jump_s))
