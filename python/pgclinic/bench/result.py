"""What was measured -> the result that is printed and stored, and its exit code. Pure but for the machine's facts."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from pgclinic import __version__
from pgclinic.bench.load_spec import options_of
from pgclinic.bench.prepare import Tables
from pgclinic.bench.request import BenchRequest
from pgclinic.bench.run import Ran
from pgclinic.bench.target import Patient
from pgclinic.bench.thresholds import judge_thresholds
from pgclinic.bench.tpcc_figures import tpcc_figures
from pgclinic.model.bench import BenchResult, ThresholdResult, TpccViolation
from pgclinic.model.load import LoadResult
from pgclinic.model.run import Tool
from pgclinic.pg.version import version_of_number
from pgclinic.store.machine import read_machine

DONE, NOT_RUN, ABORTED, CROSSED, INTERRUPTED = 0, 1, 2, 3, 130


def make_result(
    request: BenchRequest,
    ran: Ran,
    patient: Patient,
    tables: Tables,
    command: Sequence[str],
    violations: tuple[TpccViolation, ...] | None = None,
) -> BenchResult:
    """``command`` must be free of secrets already. ``violations`` is None when consistency was not checked."""
    load, thresholds = ran.load, judge_thresholds(request.fail_if, ran.load)
    broken = any(not violation.expected for violation in violations or ())
    return BenchResult(
        command=tuple(command),
        options=options_of(request),
        server_version=str(version_of_number(patient.session.version_num)),
        host=patient.target.host,
        database=patient.target.database,
        scale=tables.scale,
        partition_method=tables.partition_method,
        partitions=tables.partitions,
        load=load,
        machine=read_machine(),
        tool=Tool(
            pgclinic=__version__,
            engine=load.engine.version,
            engine_profile=load.engine.profile,
            python=".".join(str(part) for part in sys.version_info[:3]),
        ),
        started_epoch_us=load.started_epoch_us or time.time_ns() // 1000,
        exit_code=ABORTED if broken else exit_code(request, ran, thresholds),
        thresholds=thresholds,
        rate_search=ran.rate_search,
        stability=ran.stability,
        tpcc=None if request.tpcc is None else tpcc_figures(load, violations),
    )


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
