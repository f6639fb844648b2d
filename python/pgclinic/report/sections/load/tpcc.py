"""TPC-C's result in words: commits first, then how every transaction ended, then what BenchBase would say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.model.bench import BenchResult, TpccFigures, TpccTransaction
from pgclinic.model.load import Convention, Failure, LoadResult, StatementResult, TpccSpec
from pgclinic.report.sections.load.figures import (
    engine_lines,
    milliseconds,
    open_loop_lines,
    percentile_words,
    search_lines,
    threshold_lines,
)
from pgclinic.report.words.figures import count, number, percent

#: Below this many commits a rate says little without its limits.
COMMITS_FEW = 30
_TEXT_MAX = 80
_COUNTS = ("commits", "share", "mix", "rolled back", "given up", "deadlocks", "other errors", "retries")
_COLUMNS = ("", *_COUNTS, "p50", "p90", "p99 ms")


def tpcc_lines(result: BenchResult) -> list[str]:
    """The whole result of ``--tpcc``."""
    figures, spec, load = result.tpcc, result.options.tpcc, result.load
    assert figures is not None and spec is not None
    lines = [*_head(result, spec), "", *_speed(result, figures), *search_lines(result), ""]
    lines += _table(figures.transactions)
    lines.append("")
    lines += _conventions(result, spec, figures)
    lines.append(f"statements   {number(figures.statements)}/s answered, in transactions of any outcome")
    lines += open_loop_lines(load)
    lines += _latency(result)
    lines += engine_lines(load)
    lines += _still_running(load)
    lines += _failures(load)
    lines += _consistency(figures)
    lines += threshold_lines(result)
    return lines


def type_words(name: str) -> str:
    """new_order -> NewOrder, as the specification writes it."""
    return "".join(part.capitalize() for part in name.split("_"))


def _head(result: BenchResult, spec: TpccSpec) -> Iterator[str]:
    words = [
        f"TPC-C   {count(spec.warehouses, 'warehouse')}",
        count(result.options.clients, "terminal"),
        f"convention {spec.convention.value}{' with waits' if spec.waits else ''}",
        spec.isolation.value.replace("_", " "),
        _tries_words(result.options.max_tries),
    ]
    yield " · ".join(words)
    yield f"PostgreSQL {result.server_version} · {result.machine.cores} cores · seed {result.options.seed}"


def _tries_words(tries: int) -> str:
    if tries == 0:
        return "any number of tries"
    return "1 try" if tries == 1 else f"up to {tries} tries"


def _speed(result: BenchResult, figures: TpccFigures) -> Iterator[str]:
    load, options = result.load, result.options
    after = f" after {options.warm_up_s:g} s of warm-up" if options.warm_up_s else ""
    yield (
        f"{number(figures.commits)} commits/s   {count(load.transactions, 'commit')} in {load.measured_s:.1f} s{after}"
    )
    if load.transactions < COMMITS_FEW:
        low, high = figures.commits_limits
        yield f"  exact 95 % CI of the rate: {number(low)} to {number(high)} commits/s"


def _table(transactions: Sequence[TpccTransaction]) -> list[str]:
    rows = [_COLUMNS, *(_row(transaction) for transaction in transactions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return [f"  {_cells(row, widths)}" for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> str:
    """The name to the left, figures to the right."""
    name, *figures = row
    return "  ".join(
        [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
    )


def _row(transaction: TpccTransaction) -> tuple[str, ...]:
    percentiles = (transaction.p50_ms, transaction.p90_ms, transaction.p99_ms)
    return (
        type_words(transaction.name),
        f"{transaction.commits:,}",
        f"{100 * transaction.share:.1f} %",
        percent(transaction.target_share),
        f"{transaction.rolled_back:,}",
        f"{transaction.given_up:,}",
        f"{transaction.deadlocks:,}",
        f"{transaction.other_errors:,}",
        f"{transaction.retries:,}",
        *("-" if value is None else number(value) for value in percentiles),
    )


def _conventions(result: BenchResult, spec: TpccSpec, figures: TpccFigures) -> Iterator[str]:
    if spec.convention is Convention.SPEC:
        yield f"NewOrder   {number(figures.new_orders_per_minute)} commits per minute" + (
            "; a valid tpmC needs a longer run and an audit as well"
            if spec.waits
            else ", not a valid tpmC: the specification requires key and think times (--waits)"
        )
        return
    load = result.load
    yield (
        f"BenchBase figures   throughput {number(figures.benchbase_throughput)}, "
        f"goodput {number(figures.benchbase_goodput)} requests/s"
    )
    lost = load.failed + load.rolled_back
    why = [f"its throughput includes failed and rolled-back transactions ({lost:,})"]
    if load.warm_up_transactions:
        why.append(f"its goodput includes {load.warm_up_transactions:,} commits of the warm-up")
    yield "  " + "; ".join(why)


def _latency(result: BenchResult) -> Iterator[str]:
    start = "latency from intended start" if result.load.offered is not None else "latency of commits"
    yield f"{start}   {percentile_words(result.load.latency, result.options.percentiles)}"
    options = result.options
    for script in result.load.scripts:
        if options.latency_percentiles or options.report_per_command:
            yield f"  {type_words(script.name):<11}   {percentile_words(script.latency, options.percentiles)}"
        if options.report_per_command:
            yield from (_statement(statement) for statement in script.statements)


def _statement(statement: StatementResult) -> str:
    mean_ms = milliseconds(statement.latency.mean_us) if statement.latency.count else "-"
    text = " ".join(statement.text.split())
    short = text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 1] + "…"
    return f"    mean {mean_ms:>6} ms   {statement.failures:>7,} failed   {short}"


def _still_running(load: LoadResult) -> Iterator[str]:
    if not load.in_flight:
        return
    oldest = max(load.in_flight, key=lambda work: work.age_us)
    kinds = sorted({work.script for work in load.in_flight})
    by_type = ", ".join(f"{sum(work.script == kind for work in load.in_flight):,} {type_words(kind)}" for kind in kinds)
    yield f"still running   {len(load.in_flight):,} at the end, cancelled and not counted: " + (
        f"{by_type}; the oldest, {type_words(oldest.script)}, for {milliseconds(oldest.age_us)} ms"
    )


def _failures(load: LoadResult) -> Iterator[str]:
    """One line a SQLSTATE, the most frequent first; ``-r`` lists the statements that failed."""
    if load.clients_lost:
        yield f"terminals   {load.clients_lost} of {load.clients} were lost"
    kinds: dict[str, list[Failure]] = {}
    for failure in sorted(load.failures, key=lambda failure: -failure.count):
        kinds.setdefault(failure.sqlstate, []).append(failure)
    for sqlstate, found in sorted(kinds.items(), key=lambda kind: -_sum(kind[1])):
        of_types = {failure.script: 0 for failure in found}
        for failure in found:
            of_types[failure.script] += failure.count
        words = " · ".join(f"{type_words(script) or 'connecting'} {amount:,}" for script, amount in of_types.items())
        yield f"failed   {sqlstate}   {_sum(found):,}x   {words}: {found[0].message}"


def _sum(failures: Sequence[Failure]) -> int:
    return sum(failure.count for failure in failures)


def _consistency(figures: TpccFigures) -> Iterator[str]:
    if figures.violations is None:
        return
    if not figures.violations:
        yield "consistency   the data satisfy the conditions of TPC-C"
    for found in figures.violations:
        head = "lost updates   expected under this convention: " if found.expected else "INCONSISTENT   "
        yield f"{head}condition {found.condition}: {found.text}; first at {found.key}"
