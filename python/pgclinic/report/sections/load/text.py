"""pgbench's summary of a run, line by line as pgbench words it, so that what reads pgbench reads this. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pgclinic.model.bench import BenchOptions, BenchResult
from pgclinic.model.load import Failure, Histogram, LoadResult, ScriptResult
from pgclinic.report.sections.load.figures import own_lines
from pgclinic.report.sections.load.tpcc import tpcc_lines

_SERIALIZATION, _DEADLOCK = "40001", "40P01"


def result_lines(result: BenchResult) -> list[str]:
    """pgbench's summary with ours behind it, or TPC-C's."""
    return list(tpcc_lines(result)) if result.tpcc else [*pgbench_lines(result), *own_lines(result)]


def pgbench_lines(result: BenchResult) -> list[str]:
    """The whole summary. Without a single transaction it ends early, as pgbench's does."""
    options, load = result.options, result.load
    lines = [*_head(result), *_counts(options, load)]
    if load.transactions + serious_failures(load.failures) + load.skipped == 0:
        return lines
    lines += _outcomes(options, load)
    lines += _latency_of_all(options, load)
    if options.rate_tps is not None and load.schedule_lag is not None:
        lag = load.schedule_lag
        lines.append(f"rate limit schedule lag: avg {lag.mean_us / 1000:.3f} (max {lag.max_us / 1000:.3f}) ms")
    lines += _speed(options, load)
    lines += _scripts(result)
    return lines


def share(part: int, whole: int) -> str:
    """A share as pgbench writes it: 0.957%."""
    return f"{100 * part / whole if whole else 0:.3f}%"


def serious_failures(failures: Iterable[Failure]) -> int:
    """What pgbench counts as failed: serialization failures and deadlocks. Other errors abort the client."""
    return sum(failure.count for failure in failures if failure.sqlstate in (_SERIALIZATION, _DEADLOCK))


def _head(result: BenchResult) -> Iterator[str]:
    options = result.options
    yield f"pgclinic bench ({result.tool.pgclinic}, server {result.server_version})"
    scripts = options.scripts
    yield f"transaction type: {scripts[0].name if len(scripts) == 1 else 'multiple scripts'}"
    yield f"scaling factor: {result.scale}"
    if result.partition_method is not None:
        yield f"partition method: {result.partition_method}"
        yield f"partitions: {result.partitions}"
    yield f"query mode: {options.protocol.value}"
    yield f"number of clients: {options.clients}"
    yield f"number of threads: {options.threads}"
    if options.max_tries:
        yield f"maximum number of tries: {options.max_tries}"


def _counts(options: BenchOptions, load: LoadResult) -> Iterator[str]:
    if options.transactions is not None:
        yield f"number of transactions per client: {options.transactions}"
        wanted = options.transactions * options.clients
        yield f"number of transactions actually processed: {load.transactions}/{wanted}"
    else:
        yield f"duration: {options.duration_s} s"
        yield f"number of transactions actually processed: {load.transactions}"


def _outcomes(options: BenchOptions, load: LoadResult) -> Iterator[str]:
    failed = serious_failures(load.failures)
    total = load.transactions + failed + load.skipped
    yield f"number of failed transactions: {failed} ({share(failed, total)})"
    if options.failures_detailed:
        yield from _by_type(load.failures, total, prefix="")
    if options.max_tries != 1:
        yield f"number of transactions retried: {load.retried} ({share(load.retried, total)})"
        yield f"total number of retries: {load.retries}"
    if options.latency_limit_ms is not None:
        if options.rate_tps is not None:
            yield f"number of transactions skipped: {load.skipped} ({share(load.skipped, total)})"
        yield (
            f"number of transactions above the {options.latency_limit_ms:.1f} ms latency limit: "
            f"{load.late}/{load.transactions} ({share(load.late, load.transactions)})"
        )


def _by_type(failures: tuple[Failure, ...], total: int, *, prefix: str) -> Iterator[str]:
    for words, sqlstate in (("serialization", _SERIALIZATION), ("deadlock", _DEADLOCK)):
        count = sum(failure.count for failure in failures if failure.sqlstate == sqlstate)
        yield f"{prefix}number of {words} failures: {count} ({share(count, total)})"


def _latency_of_all(options: BenchOptions, load: LoadResult) -> Iterator[str]:
    """As pgbench: the spread only where it measures single transactions; else failures have their share of the time."""
    if options.rate_tps is not None or options.progress_s or options.latency_limit_ms is not None:
        yield from _latency(load.latency)
        return
    failed = serious_failures(load.failures)
    if failed:
        mean_ms = 1000 * load.measured_s * options.clients / (load.transactions + failed)
        yield f"latency average = {mean_ms:.3f} ms (including failures)"
    elif load.latency.count:
        yield f"latency average = {load.latency.mean_us / 1000:.3f} ms"


def _latency(latency: Histogram, prefix: str = "") -> Iterator[str]:
    if latency.count:
        yield f"{prefix}latency average = {latency.mean_us / 1000:.3f} ms"
        yield f"{prefix}latency stddev = {latency.stddev_us / 1000:.3f} ms"


def _speed(options: BenchOptions, load: LoadResult) -> Iterator[str]:
    if options.reconnect:
        # pgbench divides by transactions, and its -C makes one connection for each.
        if load.transactions:
            yield f"average connection time = {1000 * load.reconnect_s / load.transactions:.3f} ms"
        yield f"tps = {load.tps:.6f} (including reconnection times)"
    else:
        yield f"initial connection time = {load.connect_s * 1000:.3f} ms"
        yield f"tps = {load.tps:.6f} (without initial connection time)"


def _scripts(result: BenchResult) -> Iterator[str]:
    """Every script's part; of a single script only its commands, and only with -r."""
    options, load = result.options, result.load
    if len(load.scripts) == 1:
        if options.report_per_command:
            yield from _commands(load.scripts[0], options, load.failures, prefix="")
        return
    weights = sum(script.weight for script in load.scripts)
    total = load.transactions + serious_failures(load.failures) + load.skipped
    for number, script in enumerate(load.scripts, start=1):
        failures = tuple(failure for failure in load.failures if failure.script_number == number - 1)
        failed = serious_failures(failures)
        mine = script.transactions + failed + script.skipped
        yield f"SQL script {number}: {script.name}"
        yield f" - weight: {script.weight} (targets {100 * script.weight / weights:.1f}% of total)"
        yield f" - {mine} transactions ({100 * mine / total if total else 0:.1f}% of total)"
        if mine:
            yield from _script_outcomes(script, options, load, failures)
        if options.report_per_command:
            yield from _commands(script, options, failures, prefix=" - ")


def _script_outcomes(
    script: ScriptResult, options: BenchOptions, load: LoadResult, failures: tuple[Failure, ...]
) -> Iterator[str]:
    failed = serious_failures(failures)
    mine = script.transactions + failed + script.skipped
    tps = script.transactions / load.measured_s if load.measured_s > 0 else 0.0
    yield f" - number of transactions actually processed: {script.transactions} (tps = {tps:.6f})"
    yield f" - number of failed transactions: {failed} ({share(failed, mine)})"
    if options.failures_detailed:
        yield from _by_type(failures, mine, prefix=" - ")
    if options.max_tries != 1:
        yield f" - number of transactions retried: {script.retried} ({share(script.retried, mine)})"
        yield f" - total number of retries: {script.retries}"
    if options.rate_tps is not None and options.latency_limit_ms is not None:
        yield f" - number of transactions skipped: {script.skipped} ({share(script.skipped, mine)})"
    yield from _latency(script.latency, " - ")


def _commands(
    script: ScriptResult, options: BenchOptions, failures: Iterable[Failure], *, prefix: str
) -> Iterator[str]:
    """A line a command. ``failures`` are the script's; as in pgbench, what a retry cured is none."""
    retries = options.max_tries != 1
    yield f"{prefix}statement latencies in milliseconds{', failures and retries' if retries else ' and failures'}:"
    failures = tuple(failures)
    for index, command in enumerate(script.statements):
        failed = serious_failures(failure for failure in failures if failure.statement == index)
        mean_ms = command.latency.mean_us / 1000 if command.latency.count else 0.0
        retried = f" {command.retries:10d}" if retries else ""
        text = command.text.split("\n")[0]
        yield f"   {mean_ms:11.3f}  {failed:10d}{retried} {text}"
