"""ONE trial, from nothing to a record. Lab, load and observe meet only here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import PgclinicError, ServerLostError, UsageError
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.run import Second
from pgclinic.model.study import Counter
from pgclinic.model.trial import CounterSample, CpuUse, Probe, TrialOutcome, TrialRecord, TrialSpec
from pgclinic.observe.counters import CounterSampler, hits_per_transaction
from pgclinic.observe.cpu import CpuMeter
from pgclinic.observe.probe import visit_pages
from pgclinic.observe.settings import reported_settings
from pgclinic.pg.session import Access
from pgclinic.trial.condition import conditions
from pgclinic.trial.doubts import find_doubts
from pgclinic.trial.patient import server_for, target_of
from pgclinic.trial.seconds import LiveSeconds


@dataclass(frozen=True)
class TrialListener:
    """What a caller wants to hear while a trial runs. Both may be called from other threads than the caller's."""

    on_stage: Callable[[str], None] = field(default=lambda _: None)
    on_second: Callable[[Second], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class Measured:
    """What was seen between the start and the end of a load."""

    load: LoadResult
    samples: tuple[CounterSample, ...]
    cpu: CpuUse
    probe: Probe | None


def run_trial(spec: TrialSpec, listener: TrialListener, *, dsn: str | None = None) -> TrialRecord:
    """Run one trial. ``dsn`` is the whole address of an attached server, with its secrets.

    What goes wrong with the server or the load gives a failed record; wrong usage and Ctrl-C are raised.
    """
    started_epoch_us = time.time_ns() // 1000
    started_s = time.monotonic()
    version: str | None = None
    try:
        listener.on_stage("starting")
        with server_for(spec, dsn=dsn) as access:
            version = access.server.version
            settings = reported_settings(access, tuple(spec.settings))
            measured = _measure(spec, access, listener)
    except UsageError:
        raise
    except PgclinicError as error:
        return TrialRecord(
            spec=spec,
            outcome=TrialOutcome.FAILED,
            started_epoch_us=started_epoch_us,
            elapsed_s=time.monotonic() - started_s,
            server_version=version,
            failure=error.message,
        )
    return TrialRecord(
        spec=spec,
        outcome=TrialOutcome.DONE,
        started_epoch_us=started_epoch_us,
        elapsed_s=time.monotonic() - started_s,
        server_version=version,
        settings=settings,
        load=measured.load,
        samples=measured.samples,
        counters=_counters(measured),
        probe=measured.probe,
        cpu=measured.cpu,
        doubts=find_doubts(spec.load, measured.load, measured.cpu, measured.samples),
    )


def _measure(spec: TrialSpec, access: Access, listener: TrialListener) -> Measured:
    """Bring the condition up, load and observe, probe while the condition still lasts."""
    live = LiveSeconds(spec, listener.on_second)
    with conditions(access, spec.condition):
        sampler = CounterSampler(access, on_sample=live.sample)
        meter = CpuMeter(access.server.pid)
        sampler.start()
        try:
            listener.on_stage("warming up")
            meter.start()
            load = run_load(_aimed(spec.load, access), on_progress=live.progress)
            cpu = meter.stop(load)
        finally:
            epoch_samples = sampler.stop()
        _refuse_lost_server(load)
        listener.on_stage("probing")
        probe = visit_pages(access, spec.probe) if spec.probe else None
    return Measured(load=load, samples=_aligned(epoch_samples, load), cpu=cpu, probe=probe)


def _aimed(load: LoadSpec, access: Access) -> LoadSpec:
    """The load with the address of the server that is up now."""
    return replace(load, target=target_of(access))


def _refuse_lost_server(load: LoadResult) -> None:
    if load.stopped == "clients_lost" or load.clients_lost == load.clients:
        words = "; ".join(f"{f.message} ({f.sqlstate}, {f.count}x)" for f in load.failures[:3])
        raise ServerLostError(f"all clients lost the server: {words}")


def _aligned(samples: tuple[CounterSample, ...], load: LoadResult) -> tuple[CounterSample, ...]:
    """Samples taken at epoch seconds -> seconds since measuring began."""
    start_s = load.started_epoch_us / 1e6
    return tuple(replace(sample, at_s=sample.at_s - start_s) for sample in samples)


def _counters(measured: Measured) -> dict[Counter, float]:
    """Mechanism counters over the measured time; one that could not be read is left out."""
    counters: dict[Counter, float] = {}
    inside = [sample for sample in measured.samples if sample.at_s >= 0]
    if len(inside) >= 2:
        hits = hits_per_transaction(inside[0], inside[-1])
        if hits is not None:
            counters[Counter.BUFFER_HITS_PER_TRANSACTION] = hits
    if measured.probe is not None:
        counters[Counter.PROBE_PAGES] = float(measured.probe.pages)
    return counters
