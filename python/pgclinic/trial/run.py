"""ONE trial, from nothing to a record. Lab, load and observe meet only here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import DiskFullError, PgclinicError, RunFailedError, ServerLostError, UsageError
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.pages import PageFacts
from pgclinic.model.processes import ProcessSample
from pgclinic.model.run import Second
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Counter, WarmUpEnd
from pgclinic.model.trial import CpuUse, Probe, TrialOutcome, TrialRecord, TrialSpec
from pgclinic.model.trial_events import TrialEvents
from pgclinic.observe.activity import activity_counters
from pgclinic.observe.cpu import CpuMeter
from pgclinic.observe.gauges import read_gauges
from pgclinic.observe.identity import identity_counters
from pgclinic.observe.local_server import visible_postmaster
from pgclinic.observe.logged import logged_counters
from pgclinic.observe.mechanism import mechanism_counters
from pgclinic.observe.pages import page_facts
from pgclinic.observe.probe import visit_pages
from pgclinic.observe.process_watch import ProcessWatch, client_memory_bytes, read_calls_between
from pgclinic.observe.sampler import Sampler
from pgclinic.observe.settings import reported_settings
from pgclinic.observe.statistics_lag import await_statistics
from pgclinic.observe.views import WAITS_EVERY_S, views_for_waits
from pgclinic.pg.load_target import target_of
from pgclinic.pg.session import Access, QueryError
from pgclinic.trial.condition import conditions
from pgclinic.trial.doubts import find_doubts
from pgclinic.trial.machine_doubts import PAUSED_SHARE_MAX, stopped_load
from pgclinic.trial.patient import server_for
from pgclinic.trial.plan_capture import capture_plans
from pgclinic.trial.read_only import ReadOnlyGuard
from pgclinic.trial.restarts import RestartWatch
from pgclinic.trial.seconds import LiveSeconds
from pgclinic.trial.server_log import ServerLog
from pgclinic.trial.shell_account import with_shell_account
from pgclinic.trial.warm_up import WarmUpWatch


@dataclass(frozen=True)
class TrialListener:
    """What a caller wants to hear while a trial runs. Both may be called from other threads than the caller's."""

    on_stage: Callable[[str], None] = field(default=lambda _: None)
    on_second: Callable[[Second], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class Measured:
    """What was seen between the start and the end of a load."""

    load: LoadResult
    samples: Samples
    processes: tuple[ProcessSample, ...]
    cpu: CpuUse
    probe: Probe | None
    pages: PageFacts | None
    gauges: dict[str, float]
    events: TrialEvents
    settled: bool


def run_trial(spec: TrialSpec, listener: TrialListener, *, dsn: str | None = None) -> TrialRecord:
    """Run one trial. ``dsn`` is the whole address of an attached server, with its secrets.

    What goes wrong with the server or the load gives a failed record; wrong usage, a full disk and Ctrl-C are raised.
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
    except (UsageError, DiskFullError):
        # A disk that is full is no fault of the arm, and the next trial would fail as well.
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
        processes=measured.processes,
        events=measured.events,
        counters=_counters(measured),
        probe=measured.probe,
        pages=measured.pages,
        cpu=measured.cpu,
        doubts=find_doubts(spec, measured.load, measured.cpu, measured.samples, settled=measured.settled),
    )


def _measure(spec: TrialSpec, access: Access, listener: TrialListener) -> Measured:
    """Bring the condition up, load and observe, probe while the condition still lasts."""
    live = LiveSeconds(spec, listener.on_second)
    warm_up = WarmUpWatch() if spec.warm_up_ends is WarmUpEnd.STEADY else None
    application = spec.load.target.application_name
    with conditions(access, spec.condition), RestartWatch(access, application) as restarts:
        log = ServerLog(access.server, application)
        postmaster = visible_postmaster(access)
        sampler = _sampler(spec, access, _both_samples(live, warm_up))
        watch = ProcessWatch(postmaster)
        meter, guard = CpuMeter(postmaster), ReadOnlyGuard(spec.server)
        sampler.start()
        watch.start()
        try:
            listener.on_stage("warming up")
            meter.start()
            load = run_load(
                _aimed(spec.load, access),
                on_progress=_all_progress(meter, live, warm_up, guard),
                should_stop=guard.should_stop,
                is_warm=warm_up.is_warm if warm_up is not None else None,
            )
            cpu = meter.stop()
            await_statistics(access, application)
        finally:
            samples, processes = sampler.stop(), watch.stop()
        cpu = meter.split(cpu, samples.cost_s + watch.cost_s)
        guard.refuse(load)
        _refuse_lost_server(load)
        _refuse_paused(load)
        listener.on_stage("probing")
        probe = visit_pages(access, spec.probe) if spec.probe else None
        pages = _pages(spec, access)
        gauges = read_gauges(access, spec.gauges)
        began_s = load.started_epoch_us / 1e6
        events = log.read(began_s)
        restarts.refuse(load, [one.event for one in events.kept])
        if spec.wants_plans and access.server.source != "attached":
            listener.on_stage("asking for plans")
            plans = capture_plans(access.server, _aimed(spec.load, access), began_s)
            events = replace(events, kept=(*events.kept, *plans))
    aligned = tuple(replace(look, at_s=look.at_s - began_s) for look in processes)
    return Measured(
        load=load,
        samples=samples.since(began_s),
        processes=aligned,
        cpu=cpu,
        probe=probe,
        pages=pages,
        gauges=gauges,
        events=events,
        settled=warm_up is None or warm_up.settled,
    )


def _all_progress(
    meter: CpuMeter, live: LiveSeconds, warm_up: WarmUpWatch | None, guard: ReadOnlyGuard
) -> Callable[[LoadProgress], None]:
    def on_progress(progress: LoadProgress) -> None:
        guard.progress(progress)
        if progress.phase in ("warm_up", "measure"):
            meter.look()
        live.progress(progress)
        if warm_up is not None:
            warm_up.progress(progress)

    return on_progress


def _sampler(spec: TrialSpec, access: Access, on_sample: Callable[[Sample], None]) -> Sampler:
    """Where somebody asks why, the waits are looked at more often."""
    if not spec.wants_plans:
        return Sampler(access, on_sample=on_sample)
    return Sampler(access, interval_s=WAITS_EVERY_S, views=views_for_waits(), on_sample=on_sample)


def _both_samples(live: LiveSeconds, warm_up: WarmUpWatch | None) -> Callable[[Sample], None]:
    def on_sample(sample: Sample) -> None:
        live.sample(sample)
        if warm_up is not None:
            warm_up.sample(sample)

    return on_sample


def _pages(spec: TrialSpec, access: Access) -> PageFacts | None:
    """What the pages look like inside; a server too slow or too old to tell has none."""
    if spec.pages is None:
        return None
    own = access.server.source != "attached"
    try:
        return page_facts(access, spec.pages.table, spec.pages.index, may_create=own)
    except (UsageError, QueryError):
        return None


def _aimed(load: LoadSpec, access: Access) -> LoadSpec:
    """The load with the address of the server that is up now, and never with root's rights for a script's shell."""
    return replace(with_shell_account(load), target=target_of(access))


def _refuse_lost_server(load: LoadResult) -> None:
    if load.stopped == "clients_lost" or load.clients_lost == load.clients:
        words = "; ".join(f"{f.message} ({f.sqlstate}, {f.count}x)" for f in load.failures[:3])
        raise ServerLostError(f"all clients lost the server: {words}")


def _refuse_paused(load: LoadResult) -> None:
    stopped = stopped_load(load)
    if stopped is not None and stopped.share is not None and stopped.share > PAUSED_SHARE_MAX:
        raise RunFailedError(stopped.text, hint=stopped.advice)


def _counters(measured: Measured) -> dict[str, float]:
    """Mechanism counters over the measured time; one that could not be read is left out."""
    load, cpu, probe = measured.load, measured.cpu, measured.probe
    mechanism = mechanism_counters(
        measured.samples,
        measured_s=load.measured_s,
        transactions=load.transactions,
        read_calls=read_calls_between(measured.processes, 0.0, load.measured_s),
    )
    counters = measured.gauges | {counter.value: value for counter, value in mechanism.items()}
    if probe is not None:
        counters[Counter.PROBE_SEQUENTIAL_SCANS.value] = float(probe.sequential_scans)
        if probe.pages is not None:
            counters[Counter.PROBE_PAGES] = float(probe.pages)
    if load.measured_s > 0:
        counters[Counter.STATEMENTS_PER_S] = load.statements / load.measured_s
    if cpu.elapsed_s > 0 and cpu.server_s is not None:
        counters[Counter.SERVER_CPU_SHARE] = cpu.server_s / (cpu.elapsed_s * cpu.cores)
    if load.transactions and cpu.server_s:
        # The meter ran from before the warm-up.
        finished = load.transactions + load.warm_up_transactions
        counters[Counter.SERVER_CPU_US_PER_TRANSACTION] = cpu.server_s / finished * 1e6
    memory = client_memory_bytes(measured.processes)
    if memory is not None:
        counters[Counter.BACKEND_MEMORY_BYTES] = memory
    found = (
        identity_counters(load, measured.samples, measured.events)
        | activity_counters(measured.samples, measured_s=load.measured_s)
        | logged_counters(measured.events)
    )
    return counters | {counter.value: value for counter, value in found.items()}
