"""What was measured -> the result that is printed and stored, and its exit code. Pure but for the machine's facts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pgclinic.bench.load_spec import options_of
from pgclinic.bench.prepare import Tables
from pgclinic.bench.request import BenchRequest
from pgclinic.bench.run import Ran
from pgclinic.bench.server_connection import ServerConnection
from pgclinic.bench.tpcc_figures import tpcc_figures
from pgclinic.judge.thresholds import judge_values
from pgclinic.load.tool import this_tool
from pgclinic.model.bench import BenchObserved, BenchResult, TpccViolation
from pgclinic.model.load import LoadResult
from pgclinic.model.run import RunInfo
from pgclinic.model.threshold import ThresholdResult
from pgclinic.model.trial import TrialRecord
from pgclinic.model.version import version_of_number
from pgclinic.store.bench_folder import bench_info
from pgclinic.store.machine import read_machine

DONE, NOT_RUN, ABORTED, CROSSED, INTERRUPTED = 0, 1, 2, 3, 130


def info_of_new_bench(request: BenchRequest, command: Sequence[str], server: str) -> RunInfo:
    """run.json of a bench that begins now. ``command`` and ``server``, in words, must be free of secrets already."""
    return bench_info(
        command,
        options_of(request),
        server,
        machine=read_machine(),
        tool=this_tool(),
        started_epoch_us=time.time_ns() // 1000,
        settings=request.lab.settings if request.lab is not None else {},
    )


def make_result(
    request: BenchRequest,
    ran: Ran,
    connection: ServerConnection,
    tables: Tables,
    command: Sequence[str],
    violations: tuple[TpccViolation, ...] | None = None,
    trial: TrialRecord | None = None,
) -> BenchResult:
    """``command`` must be free of secrets already. ``violations`` is None when consistency was not checked, ``trial``
    when the load was not observed."""
    load, thresholds = ran.load, judge_values(request.fail_if, ran.load)
    broken = any(not violation.expected for violation in violations or ())
    return BenchResult(
        command=tuple(command),
        options=options_of(request),
        server_version=str(version_of_number(connection.session.version_num)),
        host=connection.target.host,
        database=connection.target.database,
        scale=tables.scale,
        partition_method=tables.partition_method,
        partitions=tables.partitions,
        load=load,
        machine=read_machine(),
        tool=this_tool(),
        started_epoch_us=load.started_epoch_us or time.time_ns() // 1000,
        exit_code=ABORTED if broken else exit_code(request, ran, thresholds),
        thresholds=thresholds,
        rate_search=ran.rate_search,
        stability=ran.stability,
        tpcc=None if request.tpcc is None else tpcc_figures(load, violations),
        observed=None if trial is None else observed_of(trial),
    )


def observed_of(trial: TrialRecord) -> BenchObserved:
    """The part of the record that the result shows."""
    from pgclinic.samples.trial_activity import trial_activity

    return BenchObserved(
        counters=trial.counters,
        doubts=trial.doubts,
        activity=trial_activity(trial),
        cpu=trial.cpu,
        missing=trial.samples.failed,
    )


def trial_of(ran: Ran) -> TrialRecord | None:
    """The record of the load that is shown, None where it was not observed or did not begin."""
    if ran.observed is None or ran.load.measured_s <= 0:
        return None
    stable = ran.stability is not None and ran.stability.stable_after_s is not None
    return ran.observed.record(ended_early_on_purpose=stable)


def exit_code(request: BenchRequest, ran: Ran, thresholds: Sequence[ThresholdResult]) -> int:
    """As pgbench: 1 when a client had no connection at the start, 2 when one was aborted; then our own."""
    load = ran.load
    if load.clients_lost:
        return NOT_RUN if never_connected(load) and not request.reconnect else ABORTED
    if load.stopped == "limit" or lost_connections(request, load):
        return ABORTED
    if load.stopped == "interrupted" and (ran.stability is None or ran.stability.stable_after_s is None):
        return INTERRUPTED
    if ran.rate_search is not None and ran.rate_search.rate_tps is None:
        return CROSSED
    return CROSSED if any(threshold.crossed for threshold in thresholds) else DONE


def lost_connections(request: BenchRequest, load: LoadResult) -> bool:
    """Whether terminals lost the server: they connect again, so that no client of the load is lost with it."""
    return request.tpcc is not None and any(failure.sqlstate == "connection" for failure in load.failures)


def never_connected(load: LoadResult) -> bool:
    """Whether a client got no session at all, for which pgbench does not begin."""
    return any(failure.script == "" for failure in load.failures)
