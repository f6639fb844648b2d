"""A load -> TPC-C's figures, and what BenchBase would have said of it. Pure."""

from __future__ import annotations

from pgclinic.model.bench import TpccFigures, TpccTransaction, TpccViolation
from pgclinic.model.load import LoadResult, ScriptResult
from pgclinic.stats.poisson import poisson_limits

_SERIALIZATION, _DEADLOCK = "40001", "40P01"
NEW_ORDER = "new_order"


def tpcc_figures(load: LoadResult, violations: tuple[TpccViolation, ...] | None = None) -> TpccFigures:
    """``violations`` is None when consistency was not checked."""
    measured_s = load.measured_s
    low, high = poisson_limits(load.transactions)
    ended = load.transactions + load.rolled_back + load.failed
    begun_before = sum(script.begun_before for script in load.scripts)
    new_orders = sum(script.transactions for script in load.scripts if script.name == NEW_ORDER)
    return TpccFigures(
        commits=_rate(load.transactions, measured_s),
        commits_limits=(_rate(low, measured_s), _rate(high, measured_s)),
        statements=_rate(load.statements, measured_s),
        benchbase_throughput=_rate(ended - begun_before, measured_s),
        benchbase_goodput=_rate(load.transactions + load.warm_up_transactions, measured_s),
        new_orders_per_minute=60 * _rate(new_orders, measured_s),
        transactions=tuple(_transaction(script, load) for script in load.scripts),
        violations=violations,
    )


def _transaction(script: ScriptResult, load: LoadResult) -> TpccTransaction:
    given_up = _failed_with(_SERIALIZATION, script, load)
    deadlocks = _failed_with(_DEADLOCK, script, load)
    latency = script.latency
    p50_ms, p90_ms, p99_ms = (
        value_us / 1000 if latency.count else None for value_us in (latency.p50_us, latency.p90_us, latency.p99_us)
    )
    weights = sum(other.weight for other in load.scripts)
    return TpccTransaction(
        name=script.name,
        commits=script.transactions,
        share=script.transactions / load.transactions if load.transactions else 0.0,
        target_share=script.weight / weights if weights else 0.0,
        rolled_back=script.rolled_back,
        given_up=given_up,
        deadlocks=deadlocks,
        other_errors=script.failed - given_up - deadlocks,
        retries=script.retries,
        begun_before=script.begun_before,
        p50_ms=p50_ms,
        p90_ms=p90_ms,
        p99_ms=p99_ms,
    )


def _failed_with(sqlstate: str, script: ScriptResult, load: LoadResult) -> int:
    return sum(
        failure.count for failure in load.failures if failure.script == script.name and failure.sqlstate == sqlstate
    )


def _rate(events: float, measured_s: float) -> float:
    return events / measured_s if measured_s > 0 else 0.0
