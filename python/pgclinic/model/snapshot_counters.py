"""The cumulative counters of a server at one moment; two of them give rates. Durations in ms."""

from __future__ import annotations

from pgclinic.model.record import Record


class DatabaseCounters(Record):
    """One database. ``bytes`` is known of the database that was looked at alone. ``sessions`` are those ever opened.

    ``conflicts`` are statements that recovery canceled on a standby, of which the last three have the commonest causes.
    """

    oid: int
    name: str
    allows_connections: bool
    connections_max: int
    xid_age: int
    multixact_age: int
    bytes: int | None
    sessions_now: int | None
    commits: int | None
    rollbacks: int | None
    hits: int | None
    reads: int | None
    rows_scanned: int | None
    rows_fetched: int | None
    inserted: int | None
    updated: int | None
    deleted: int | None
    conflicts: int | None
    temporary_files: int | None
    temporary_bytes: int | None
    deadlocks: int | None
    checksum_failures: int | None
    read_ms: float | None
    write_ms: float | None
    sessions: int | None
    session_ms: float | None
    active_ms: float | None
    idle_in_transaction_ms: float | None
    sessions_abandoned: int | None
    sessions_fatal: int | None
    sessions_killed: int | None
    workers_wanted: int | None
    workers_started: int | None
    reset_epoch_s: float | None
    conflicts_lock: int | None = None
    conflicts_snapshot: int | None = None
    conflicts_buffer_pin: int | None = None


class TableCounters(Record):
    """One table, by its oid. ``hits`` and ``reads`` are pages of its main fork, those of its TOAST table apart."""

    oid: int
    sequential_scans: int
    sequential_rows: int
    index_scans: int | None
    index_rows: int | None
    inserted: int
    updated: int
    deleted: int
    updated_hot: int
    updated_elsewhere: int | None
    live: int
    dead: int
    changed_since_analyze: int
    inserted_since_vacuum: int
    last_vacuum_epoch_s: float | None
    last_autovacuum_epoch_s: float | None
    last_analyze_epoch_s: float | None
    last_autoanalyze_epoch_s: float | None
    vacuums: int
    autovacuums: int
    analyzes: int
    autoanalyzes: int
    last_sequential_scan_epoch_s: float | None
    last_index_scan_epoch_s: float | None
    autovacuum_ms: float | None
    autoanalyze_ms: float | None
    hits: int
    reads: int
    toast_hits: int | None
    toast_reads: int | None
    toast_dead: int | None
    toast_live: int | None = None


class IndexCounters(Record):
    oid: int
    scans: int
    entries: int
    rows: int
    hits: int
    reads: int
    last_scan_epoch_s: float | None


class StatementCounters(Record):
    """One statement of one role. Blocks of the server's size; ``mean_ms``, ``min_ms`` and so on are of execution."""

    query_id: int
    user: str
    is_top_level: bool
    calls: int
    plans: int
    plan_ms: float
    total_ms: float
    min_ms: float
    max_ms: float
    mean_ms: float
    deviation_ms: float
    rows: int
    hits: int
    reads: int
    dirtied: int
    written: int
    local_hits: int
    local_reads: int
    local_written: int
    temporary_reads: int
    temporary_written: int
    read_ms: float
    write_ms: float
    wal_records: int
    full_page_images: int
    wal_bytes: int
    jit_functions: int | None
    jit_ms: float | None
    since_epoch_s: float | None
    wal_buffers_full: int | None
    workers_wanted: int | None
    workers_started: int | None


class StatementsInfo(Record):
    """``evictions`` is how often pg_stat_statements had to forget the statements with the fewest calls."""

    evictions: int
    reset_epoch_s: float | None


class WalCounters(Record):
    records: int
    full_page_images: int
    bytes: int
    buffers_full: int
    writes: int | None
    syncs: int | None
    write_ms: float | None
    sync_ms: float | None
    reset_epoch_s: float | None


class CheckpointCounters(Record):
    timed: int
    requested: int
    done: int | None
    write_ms: float
    sync_ms: float
    buffers_written: int
    reset_epoch_s: float | None


class WriterCounters(Record):
    """The background writer; ``written_by_backends`` until 16, after that it is in the I/O counters."""

    written: int
    stopped_early: int
    allocated: int
    written_by_backends: int | None
    synced_by_backends: int | None
    reset_epoch_s: float | None


class ArchiverCounters(Record):
    """``last_archived_wal`` is the name of the last file that was archived."""

    archived: int
    failed: int
    last_archived_epoch_s: float | None
    last_failed_epoch_s: float | None
    reset_epoch_s: float | None
    last_archived_wal: str | None = None


class IoCounters(Record):
    """A row of pg_stat_io; None where this kind of process never does such a thing."""

    backend_type: str
    object: str
    context: str
    reads: int | None
    read_bytes: int | None
    read_ms: float | None
    writes: int | None
    write_bytes: int | None
    write_ms: float | None
    writebacks: int | None
    extends: int | None
    extend_ms: float | None
    hits: int | None
    evictions: int | None
    reuses: int | None
    syncs: int | None
    sync_ms: float | None
    reset_epoch_s: float | None


class SlruCounters(Record):
    name: str
    zeroed: int
    hits: int
    reads: int
    written: int
    flushes: int
    truncates: int
    reset_epoch_s: float | None


class FunctionCounters(Record):
    name: str
    calls: int
    total_ms: float
    self_ms: float


class DecodingCounters(Record):
    """Of a logical slot, in bytes of decoded changes: those that were spilled, and all."""

    slot: str
    spilled_transactions: int
    spills: int
    spilled_bytes: int
    transactions: int
    bytes: int
    reset_epoch_s: float | None


class SubscriptionCounters(Record):
    """A subscription's failures to apply a change and to copy a table."""

    name: str
    apply_errors: int
    copy_errors: int
    reset_epoch_s: float | None


class Counters(Record):
    """Counters at ``at_epoch_s``. What the server has one row of is a tuple of one element, or of none."""

    at_epoch_s: float
    statements: tuple[StatementCounters, ...] = ()
    statements_info: tuple[StatementsInfo, ...] = ()
    databases: tuple[DatabaseCounters, ...] = ()
    tables: tuple[TableCounters, ...] = ()
    indexes: tuple[IndexCounters, ...] = ()
    functions: tuple[FunctionCounters, ...] = ()
    wal: tuple[WalCounters, ...] = ()
    checkpoints: tuple[CheckpointCounters, ...] = ()
    writer: tuple[WriterCounters, ...] = ()
    archiver: tuple[ArchiverCounters, ...] = ()
    io: tuple[IoCounters, ...] = ()
    slru: tuple[SlruCounters, ...] = ()
    decoding: tuple[DecodingCounters, ...] = ()
    subscriptions: tuple[SubscriptionCounters, ...] = ()
