"""The record of a trial that ran to its end, from what was measured: a study's and a bench's alike."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pgclinic.model.study import Counter
from pgclinic.model.trial import TrialOutcome, TrialRecord, TrialSpec
from pgclinic.observe.process_watch import client_memory_bytes, read_calls_between
from pgclinic.samples.activity_counters import activity_counters
from pgclinic.samples.logged_counters import logged_counters
from pgclinic.samples.mechanism import mechanism_counters
from pgclinic.samples.query_identity import identity_counters
from pgclinic.trial.doubts import find_doubts
from pgclinic.trial.observed_load import MeasuredLoad


@dataclass(frozen=True)
class Clock:
    """When a trial was started, by the wall clock and by the steady one."""

    epoch_us: int = field(default_factory=lambda: time.time_ns() // 1000)
    steady_s: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.steady_s


def done_record(
    spec: TrialSpec, measured: MeasuredLoad, started: Clock, *, version: str | None, settings: Mapping[str, str]
) -> TrialRecord:
    """``settings`` are as the server reports them, ``version`` is its own."""
    return TrialRecord(
        spec=spec,
        outcome=TrialOutcome.DONE,
        started_epoch_us=started.epoch_us,
        elapsed_s=started.elapsed_s,
        server_version=version,
        settings=dict(settings),
        load=measured.load,
        samples=measured.samples,
        processes=measured.processes,
        events=measured.events,
        counters=counters_of(measured),
        probe=measured.probe,
        pages=measured.pages,
        cpu=measured.cpu,
        resting=measured.resting,
        doubts=find_doubts(
            spec,
            measured.load,
            measured.cpu,
            measured.samples,
            settled=measured.settled,
            restart=measured.restart,
            resting=measured.resting,
        ),
    )


def counters_of(measured: MeasuredLoad) -> dict[str, float]:
    """Mechanism counters over the measured time; one that could not be read is left out."""
    load, cpu, probe = measured.load, measured.cpu, measured.probe
    mechanism = mechanism_counters(
        measured.samples,
        measured_s=load.span_s,
        transactions=load.served,
        warm_up_transactions=load.warm_up_transactions,
        read_calls=read_calls_between(measured.processes, 0.0, load.span_s),
    )
    counters = measured.custom_metrics | {counter.value: value for counter, value in mechanism.items()}
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
        finished = load.served + load.warm_up_transactions
        counters[Counter.SERVER_CPU_US_PER_TRANSACTION] = cpu.server_s / finished * 1e6
    memory = client_memory_bytes(measured.processes)
    if memory is not None:
        counters[Counter.BACKEND_MEMORY_BYTES] = memory
    found = (
        identity_counters(load, measured.samples, measured.events)
        | activity_counters(measured.samples, measured_s=load.span_s)
        | logged_counters(measured.events)
    )
    return counters | {counter.value: value for counter, value in found.items()}
