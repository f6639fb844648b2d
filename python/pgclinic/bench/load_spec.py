"""A request and the server it runs on -> the spec of the load engine. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.bench.prepare import Tables
from pgclinic.bench.request import BenchRequest, TpccWanted
from pgclinic.bench.server_connection import ServerConnection
from pgclinic.model.bench import BenchOptions, ScriptAsked
from pgclinic.model.load import LoadSpec, OnError, Pace, ShellOutput, Target, TpccSpec

#: pgbench has no limit; the engine wants one, so that a load always ends.
LIMIT_S = 365 * 86_400.0
#: pgbench waits for ever for transactions that run when the time is over; after this long they are cancelled.
FINISH_S = 3600.0


def load_spec(request: BenchRequest, tables: Tables, connection: ServerConnection) -> LoadSpec:
    """What the engine is to do."""
    limit_us = None if request.latency_limit_ms is None else int(request.latency_limit_ms * 1000)
    return LoadSpec(
        target=_target(request, connection.target),
        scripts=tuple(chosen.script for chosen in request.scripts),
        clients=request.clients,
        threads=request.threads,
        protocol=request.protocol,
        pace=Pace(rate_tps=request.rate_tps, latency_limit_us=limit_us),
        warm_up_s=request.warm_up_s,
        measure_s=None if request.duration_s is None else float(request.duration_s),
        transactions_per_client=request.transactions,
        limit_s=LIMIT_S,
        finish_s=FINISH_S if _finishes(request) else None,
        seed=request.seed,
        # -D wins over what is known from the tables, as in pgbench.
        variables={"scale": str(tables.scale)} | request.variables,
        max_tries=request.max_tries,
        on_error=_on_error(request),
        reconnect=request.reconnect,
        connect_timeout_s=connection.connect_timeout_s,
        # Terminals connect again; and with -C a client has no session before its first transaction.
        all_clients=request.tpcc is None and not request.reconnect,
        prepare_at_connect=request.tpcc is not None,
        events=True,
        # With --json stdout is for the result alone.
        shell_output=ShellOutput.STDERR if request.outputs.as_json else ShellOutput.STDOUT,
        # pgbench's report per command lists those that only compute, too.
        time_meta_commands=request.report_per_command,
        verbose_errors=request.verbose_errors,
        # A page draws them as a heat map.
        second_histograms=request.outputs.hdr is not None or request.observe,
        log=request.log,
        spin=request.spin,
        tpcc=_tpcc_spec(request.tpcc),
    )


def _target(request: BenchRequest, target: Target) -> Target:
    """A converted script is sent in UTF-8, whatever encoding the client was to have."""
    if not request.is_converted or all(chosen.script.text.isascii() for chosen in request.scripts):
        return target
    options = f"{target.options or ''} -c client_encoding=UTF8"
    return replace(target, options=options.strip())


def _finishes(request: BenchRequest) -> bool:
    """Whether what runs at the end of -T counts, as in pgbench; our own kinds of runs end sharply."""
    own = request.tpcc is not None or request.find_rate is not None or request.until_stable
    return request.duration_s is not None and not own


def _on_error(request: BenchRequest) -> OnError:
    """A script's client ends with its first error, as pgbench's does; a terminal goes on, as BenchBase's does.

    So does a client on a twin, some of whose transactions meet rows that others have made.
    """
    if request.exit_on_abort:
        return OnError.ABORT_LOAD
    on_twin = request.lab is not None and request.lab.twin is not None
    return OnError.CONTINUE if on_twin or request.tpcc is not None else OnError.ABORT_CLIENT


def _tpcc_spec(wanted: TpccWanted | None) -> TpccSpec | None:
    if wanted is None:
        return None
    return TpccSpec(
        warehouses=wanted.warehouses or 1,
        convention=wanted.convention,
        isolation=wanted.isolation,
        waits=wanted.waits,
    )


def options_of(request: BenchRequest) -> BenchOptions:
    """The request as it is stored beside the result."""
    return BenchOptions(
        scripts=tuple(
            ScriptAsked(name=chosen.script.name, weight=chosen.script.weight, builtin=chosen.builtin)
            for chosen in request.scripts
        ),
        clients=request.clients,
        threads=request.threads,
        protocol=request.protocol,
        seed=request.seed,
        transactions=request.transactions,
        duration_s=request.duration_s,
        warm_up_s=request.warm_up_s,
        rate_tps=request.rate_tps,
        latency_limit_ms=request.latency_limit_ms,
        max_tries=request.max_tries,
        reconnect=request.reconnect,
        report_per_command=request.report_per_command,
        failures_detailed=request.failures_detailed,
        progress_s=request.progress_s,
        percentiles=request.percentiles,
        latency_percentiles=request.latency_percentiles,
        tpcc=_tpcc_spec(request.tpcc),
    )
