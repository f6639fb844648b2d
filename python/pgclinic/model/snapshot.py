"""A snapshot: the state of a live server at one moment, as its own views show it. What a checkup looks for causes in.

Ages end in ``_s`` and are seconds, or in ``_age`` and are transactions; moments end in ``_epoch_s``; durations that the
server keeps are in ms. What a server's version does not have, or a role may not see, is None. Relations are known by
their ``oid``, as names may change between two queries.
"""

from __future__ import annotations

from pgclinic.model.query_plan import QueryPlan
from pgclinic.model.record import Record
from pgclinic.model.sample import Samples
from pgclinic.model.snapshot_counters import Counters
from pgclinic.model.twin import Gap


class ServerState(Record):
    """The server, the database and the role that looked. ``wal_position`` is the end of WAL in bytes."""

    version: str
    version_num: int
    clock_epoch_s: float
    started_epoch_s: float
    configured_epoch_s: float
    in_recovery: bool
    database: str
    user: str
    user_identifier: str
    is_superuser: bool
    reads_all_statistics: bool
    reads_all_settings: bool
    block_bytes: int
    wal_segment_bytes: int
    data_checksums: bool
    encoding: str
    collate: str
    ctype: str
    next_transaction: int
    wal_position: int | None
    system_identifier: int | None

    @property
    def major(self) -> int:
        return self.version_num // 10_000


class SettingState(Record):
    """One row of pg_settings. ``file`` and ``line`` are where it was set, where this role may see that."""

    name: str
    value: str
    unit: str | None
    source: str
    file: str | None
    line: int | None
    default_value: str | None
    reset_value: str | None
    context: str
    kind: str
    category: str
    pending_restart: bool


class FileSetting(Record):
    """A line of a configuration file that is not in force."""

    file: str | None
    line: int | None
    name: str
    value: str | None
    applied: bool
    error: str | None


class RoleSetting(Record):
    """A setting of a role, of a database, or of a role in a database; None stands for every one."""

    database: str | None
    role: str | None
    name: str
    value: str


class RoleState(Record):
    """A role that may log in. ``connections_max`` is -1 without a limit."""

    name: str
    is_superuser: bool
    replicates: bool
    bypasses_row_security: bool
    connections_max: int


class TablespaceState(Record):
    """``options`` are NAME=VALUE, such as random_page_cost=1.1."""

    name: str
    options: tuple[str, ...]


class ExtensionState(Record):
    """``available`` is the version that the server could update it to."""

    name: str
    schema: str
    version: str
    available: str | None


class SessionState(Record):
    """One process of the server. Constants in ``query`` are question marks; a hidden one has neither state nor query.

    ``client`` is an address, ``local`` for a socket of the file system. ``blocked_by`` are the processes it waits for.
    The moments, by the server's clock, say that a pid is still the same session, transaction and statement.
    """

    pid: int
    leader_pid: int | None
    database: str | None
    user: str | None
    application: str | None
    client: str | None
    backend_type: str | None
    state: str | None
    wait_event_type: str | None
    wait_event: str | None
    connected_s: float | None
    transaction_s: float | None
    query_s: float | None
    state_s: float | None
    xid_age: int | None
    xmin_age: int | None
    query_id: int | None
    query: str | None
    blocked_by: tuple[int, ...]
    backend_start_epoch_s: float | None = None
    transaction_start_epoch_s: float | None = None
    query_start_epoch_s: float | None = None


class PreparedTransaction(Record):
    name: str
    user: str | None
    database: str | None
    prepared_s: float
    xid_age: int


class SlotState(Record):
    """A replication slot. ``wal_left_bytes`` may still be written before the slot is in danger of being invalidated."""

    name: str
    kind: str
    plugin: str | None
    database: str | None
    active: bool
    active_pid: int | None
    temporary: bool
    wal_status: str | None
    xmin_age: int | None
    catalog_xmin_age: int | None
    wal_kept_bytes: int | None
    wal_left_bytes: int | None
    conflicting: bool | None
    inactive_s: float | None
    invalidation_reason: str | None


class StandbyState(Record):
    """A receiver of WAL: a standby, or a subscriber. Lags as it reported them last."""

    pid: int
    user: str | None
    application: str | None
    client: str | None
    state: str | None
    sync_state: str | None
    xmin_age: int | None
    unsent_bytes: int | None
    unflushed_bytes: int | None
    unreplayed_bytes: int | None
    write_lag_s: float | None
    flush_lag_s: float | None
    replay_lag_s: float | None


class WalReceiver(Record):
    """Of a standby. ``replayed_s`` is the age of the last transaction replayed; ``status`` None: not connected."""

    status: str | None
    slot: str | None
    replayed_s: float | None
    unreplayed_bytes: int | None


class LockState(Record):
    """A lock that is waited for, that others wait for, or that conflicts with writes. ``relation`` is a name."""

    pid: int | None
    kind: str
    mode: str
    granted: bool
    fastpath: bool
    relation_oid: int | None
    relation: str | None
    transaction: int | None
    waited_s: float | None
    advisory_key: int | None


class LockCount(Record):
    """Locks of one process. ``slow`` are weak locks of relations that found no place in the fast path."""

    pid: int | None
    locks: int
    relations: int
    slow: int
    advisory: int
    waiting: int


class LockTable(Record):
    """The shared lock table: the number of ``objects`` locked in it, and of ``holdings`` of processes."""

    objects: int
    holdings: int


class NotifyQueue(Record):
    """``used_share`` of the queue of NOTIFY is kept for listeners that have not read it, 0 to 1."""

    used_share: float


class HorizonHolding(Record):
    """Something that keeps dead rows alive now, ``xmin_age`` transactions behind and for ``held_s`` seconds.

    ``kind`` is session (idle), query, prepared, slot or standby. One hold has the same ``key`` as long as it lasts.
    ``catalog_xmin_age`` of a slot keeps rows of the system's catalogs alone. ``is_here`` is whether rows of the
    database that was looked at are kept: a session keeps those of its own database, a slot those of all.
    ``since_epoch_s`` is by the clock of the server; nobody knows it of a slot or a standby.
    """

    kind: str
    key: str
    holder: str
    pid: int | None
    user: str | None
    database: str | None
    state: str | None
    xmin_age: int | None
    catalog_xmin_age: int | None
    held_s: float | None
    is_here: bool
    query: str | None
    since_epoch_s: float | None = None


class SubtransactionCount(Record):
    """``overflowed``: more than fit its place in shared memory, so that every snapshot has to look them up."""

    pid: int
    subtransactions: int
    overflowed: bool


class TableState(Record):
    """A table (kind r), partitioned table (p) or materialized view (m), those of pg_catalog among them.

    ``rows`` and ``pages`` are what the last VACUUM or ANALYZE found, ``bytes`` the size of the main fork now, None
    where it could not be read, ``toast_rows`` the chunks that the last VACUUM found in its TOAST table. ``options`` are
    NAME=VALUE. ``partitioned_by`` is r, l or h, ``partition_columns`` are those of the key that are no expressions.
    """

    oid: int
    schema: str
    name: str
    kind: str
    persistence: str
    owner: str
    rows: float | None
    pages: int
    all_visible_pages: int
    columns: int
    options: tuple[str, ...]
    toast_options: tuple[str, ...]
    xid_age: int | None
    multixact_age: int | None
    toast_oid: int | None
    toast_pages: int | None
    toast_xid_age: int | None
    is_partition: bool
    parent_oid: int | None
    partitioned_by: str | None
    row_security: bool
    replica_identity: str
    tablespace: str | None
    bytes: int | None = None
    toast_bytes: int | None = None
    partition_columns: tuple[str, ...] = ()
    default_partition_oid: int | None = None
    toast_rows: float | None = None

    @property
    def qualified(self) -> str:
        """Schema and name, as people read them."""
        return f"{self.schema}.{self.name}"


class TemporaryTable(Record):
    """A temporary table of any session. ``pid`` is that session, None where it is gone or not known.

    ``is_orphaned``: its session is gone; None before 16, which does not show whose a temporary schema is.
    """

    oid: int
    schema: str
    name: str
    pid: int | None
    is_orphaned: bool | None
    xid_age: int
    multixact_age: int
    pages: int


class IndexState(Record):
    """An index. ``columns`` are those of its key, empty for an expression; ``included`` are stored beside it.

    Two indexes of one table with the same ``signature``, ``expressions`` and ``predicate`` have the same entries. The
    last two are None also where they could not be read; ``has_expressions`` and ``is_partial`` say if there are any.
    ``definition`` is the statement that makes it.
    """

    oid: int
    table_oid: int
    schema: str
    name: str
    method: str
    columns: tuple[str, ...]
    included: tuple[str, ...]
    signature: str
    is_unique: bool
    is_primary: bool
    is_exclusion: bool
    is_valid: bool
    is_ready: bool
    is_replica_identity: bool
    has_expressions: bool
    is_partial: bool
    is_constraint: bool
    rows: float
    pages: int
    options: tuple[str, ...]
    parent_oid: int | None
    bytes: int | None = None
    expressions: str | None = None
    predicate: str | None = None
    definition: str | None = None


class ForeignKeyState(Record):
    """``on_delete`` and ``on_update`` as in pg_constraint: a no action, r restrict, c cascade, n null, d default.

    ``types`` are those of the columns, without a length.
    """

    name: str
    table_oid: int
    parent_oid: int
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]
    is_valid: bool
    is_deferred: bool
    on_delete: str
    on_update: str
    types: tuple[str, ...] = ()
    parent_types: tuple[str, ...] = ()


class SequenceState(Record):
    """``column`` of ``table_oid`` takes its values; its type may end before the sequence does."""

    oid: int
    schema: str
    name: str
    type: str
    increment: int
    value_min: int
    value_max: int
    cycles: bool
    cached: int
    table_oid: int | None
    column: str | None
    column_type: str | None
    is_readable: bool
    last_value: int | None


class TriggerState(Record):
    table_oid: int
    name: str
    for_each_row: bool
    is_before: bool
    on_insert: bool
    on_delete: bool
    on_update: bool
    function: str


class ColumnSummary(Record):
    """What ANALYZE found of a column, without values. Shares from 0 to 1, ``width`` in bytes.

    ``distinct_values`` as in pg_stats: a number, or below 0 the negative share of the rows. ``top_share`` is that of
    the most common value.
    """

    schema: str
    table: str
    column: str
    inherited: bool
    null_share: float
    width: int
    distinct_values: float
    correlation: float | None
    top_share: float | None


class ExtendedStatisticsState(Record):
    """``kinds`` as in pg_statistic_ext: d distinct, f dependencies, m common values, e expressions."""

    schema: str
    name: str
    table_oid: int
    kinds: tuple[str, ...]
    columns: tuple[str, ...]


class VacuumState(Record):
    """A VACUUM that runs now. ``index_passes`` above 1: its memory for dead rows was too small."""

    pid: int
    table_oid: int
    phase: str
    pages: int
    pages_scanned: int
    pages_vacuumed: int
    index_passes: int
    dead_rows: int | None
    dead_bytes: int | None
    dead_bytes_max: int | None
    delayed_ms: float | None
    is_automatic: bool | None
    prevents_wraparound: bool
    running_s: float | None


class StatementText(Record):
    """The text of a statement as pg_stat_statements has it; a utility statement has question marks for constants."""

    query_id: int
    text: str


class SqlFunction(Record):
    """A function in SQL that a statement calls, or another one of these. ``statements`` are those of its body, with
    ``$n`` in place of the arguments and, behind their numbers, of constants."""

    schema: str
    name: str
    arguments: int
    statements: tuple[str, ...]


class WalFiles(Record):
    files: int
    bytes: int
    oldest_s: float | None


class MemoryPart(Record):
    name: str
    bytes: int


class Snapshot(Record):
    """All that was read. A part that could not be read is empty, and ``gaps`` name it.

    ``counters`` are cumulative. With an observation ``counters_before`` are those at its start and ``samples`` what
    sessions did meanwhile; without one the samples are a burst of about a second. ``query_s`` is how long each query
    took, by part. ``plans`` are there if they were asked for. ``sql_functions`` are those that the statements with the
    most time call. ``wal_files``, ``wal_receiver``, ``lock_table`` and ``notify_queue`` have one element or none.
    """

    pgclinic: str
    taken_epoch_s: float
    took_s: float
    server: ServerState
    counters: Counters
    settings: tuple[SettingState, ...] = ()
    file_settings: tuple[FileSetting, ...] = ()
    role_settings: tuple[RoleSetting, ...] = ()
    roles: tuple[RoleState, ...] = ()
    tablespaces: tuple[TablespaceState, ...] = ()
    extensions: tuple[ExtensionState, ...] = ()
    sessions: tuple[SessionState, ...] = ()
    prepared_transactions: tuple[PreparedTransaction, ...] = ()
    slots: tuple[SlotState, ...] = ()
    standbys: tuple[StandbyState, ...] = ()
    wal_receiver: tuple[WalReceiver, ...] = ()
    locks: tuple[LockState, ...] = ()
    lock_counts: tuple[LockCount, ...] = ()
    lock_table: tuple[LockTable, ...] = ()
    notify_queue: tuple[NotifyQueue, ...] = ()
    horizon: tuple[HorizonHolding, ...] = ()
    subtransactions: tuple[SubtransactionCount, ...] = ()
    tables: tuple[TableState, ...] = ()
    temporary_tables: tuple[TemporaryTable, ...] = ()
    indexes: tuple[IndexState, ...] = ()
    foreign_keys: tuple[ForeignKeyState, ...] = ()
    sequences: tuple[SequenceState, ...] = ()
    triggers: tuple[TriggerState, ...] = ()
    columns: tuple[ColumnSummary, ...] = ()
    extended_statistics: tuple[ExtendedStatisticsState, ...] = ()
    statement_texts: tuple[StatementText, ...] = ()
    sql_functions: tuple[SqlFunction, ...] = ()
    vacuums: tuple[VacuumState, ...] = ()
    wal_files: tuple[WalFiles, ...] = ()
    shared_memory: tuple[MemoryPart, ...] = ()
    own_memory: tuple[MemoryPart, ...] = ()
    counters_before: Counters | None = None
    samples: Samples = Samples()
    gaps: tuple[Gap, ...] = ()
    query_s: dict[str, float] = {}
    plans: tuple[QueryPlan, ...] = ()
    format: int = 1
