"""What a running load reports: the Python side of crates/load/src/progress.rs and event.rs."""

from __future__ import annotations

from pgclinic.model.record import Record


class LoadProgress(Record):
    """One second of a running load, over all scripts. ``second`` counts from 0 in every phase.

    ``phase`` is ``connect``, ``warm_up``, ``measure`` or ``drain``. Sums are of transactions that ended in the second;
    ``latency_us2_sum`` is the sum of the squares. ``span_s`` is less than 1 where a phase ended within the second.
    """

    phase: str
    second: int
    transactions: int
    failed: int
    skipped: int
    retries: int
    tps: float
    latency_us_mean: float
    latency_us_p50: int
    latency_us_p99: int
    latency_us_max: int
    clients_connected: int
    clients: int
    late: int = 0
    retried: int = 0
    latency_us_sum: int = 0
    latency_us2_sum: float = 0.0
    lag_us_sum: int = 0
    latency_us_p90: int = 0
    latency_us_p95: int = 0
    rolled_back: int = 0
    statements: int = 0
    span_s: float = 1.0


class LoadEvent(Record):
    """What a client or the server says while the load runs, in pgbench's words.

    ``kind`` is ``error`` (a client is aborted, or gets no session), ``info`` (a transaction failed and may be tried
    again) or ``notice`` (NOTICE, WARNING and the like, from the server).
    """

    kind: str
    text: str
