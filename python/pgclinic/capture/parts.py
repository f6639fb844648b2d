"""The parts of a snapshot: which query reads each, into which record, and what grants it to a role that may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pgclinic.model import snapshot, snapshot_counters
from pgclinic.pg.query_files import query

#: Reads almost everything; the parts below that need another right name it.
MONITOR = "grant pg_monitor to {role}"
_STATEMENTS = "create extension pg_stat_statements"


@dataclass(frozen=True)
class Part:
    """One query and the record of its rows. ``sql`` is its text by major version, ``since`` the first that has it."""

    name: str
    kind: Any
    sql: Callable[[int], str]
    since: int = 13
    grant: str = MONITOR
    #: What to do where the function or view that it reads is not there.
    missing: str | None = None


#: Statements come first: all queries after them would be among them.
COUNTERS = (
    Part(
        "statements",
        snapshot_counters.StatementCounters,
        lambda major: query("snapshot_statement_counters", major),
        missing=_STATEMENTS,
    ),
    Part(
        "statements_info",
        snapshot_counters.StatementsInfo,
        lambda major: query("snapshot_statement_info", major),
        since=14,
        missing=_STATEMENTS,
    ),
    Part("databases", snapshot_counters.DatabaseCounters, lambda major: query("snapshot_database_counters", major)),
    Part("tables", snapshot_counters.TableCounters, lambda major: query("snapshot_table_counters", major)),
    Part("indexes", snapshot_counters.IndexCounters, lambda major: query("snapshot_index_counters", major)),
    Part("functions", snapshot_counters.FunctionCounters, lambda major: query("snapshot_function_counters", major)),
    Part("wal", snapshot_counters.WalCounters, lambda major: query("snapshot_wal_counters", major), since=14),
    Part(
        "checkpoints",
        snapshot_counters.CheckpointCounters,
        lambda major: query("snapshot_checkpoint_counters", major),
    ),
    Part("writer", snapshot_counters.WriterCounters, lambda major: query("snapshot_writer_counters", major)),
    Part("archiver", snapshot_counters.ArchiverCounters, lambda major: query("snapshot_archiver_counters", major)),
    Part("io", snapshot_counters.IoCounters, lambda major: query("snapshot_io_counters", major), since=16),
    Part("slru", snapshot_counters.SlruCounters, lambda major: query("snapshot_slru_counters", major)),
    Part(
        "decoding",
        snapshot_counters.DecodingCounters,
        lambda major: query("snapshot_decoding_counters", major),
        since=14,
    ),
    Part(
        "subscriptions",
        snapshot_counters.SubscriptionCounters,
        lambda major: query("snapshot_subscription_counters", major),
        since=15,
    ),
)

#: Read last, as nothing of ours is to run as the server is configured.
SETTINGS = Part("settings", snapshot.SettingState, lambda major: query("snapshot_settings", major))

#: What passes quickly comes first, what stays as it is last.
STATE = (
    Part("sessions", snapshot.SessionState, lambda major: query("snapshot_sessions", major)),
    Part("locks", snapshot.LockState, lambda major: query("snapshot_locks", major)),
    Part("lock_counts", snapshot.LockCount, lambda major: query("snapshot_lock_counts", major)),
    Part("lock_table", snapshot.LockTable, lambda major: query("snapshot_lock_table", major)),
    Part("notify_queue", snapshot.NotifyQueue, lambda major: query("snapshot_notify_queue", major)),
    Part("horizon", snapshot.HorizonHolding, lambda major: query("snapshot_horizon", major)),
    Part(
        "subtransactions",
        snapshot.SubtransactionCount,
        lambda major: query("snapshot_subtransactions", major),
        since=16,
    ),
    Part("vacuums", snapshot.VacuumState, lambda major: query("snapshot_vacuums", major)),
    Part(
        "prepared_transactions",
        snapshot.PreparedTransaction,
        lambda major: query("snapshot_prepared_transactions", major),
    ),
    Part("slots", snapshot.SlotState, lambda major: query("snapshot_slots", major)),
    Part("standbys", snapshot.StandbyState, lambda major: query("snapshot_standbys", major)),
    Part("wal_receiver", snapshot.WalReceiver, lambda major: query("snapshot_wal_receiver", major)),
    Part(
        "file_settings",
        snapshot.FileSetting,
        lambda major: query("snapshot_file_settings", major),
        grant="grant select on pg_file_settings to {role}; "
        "grant execute on function pg_show_all_file_settings() to {role}",
    ),
    Part("role_settings", snapshot.RoleSetting, lambda major: query("snapshot_role_settings", major)),
    Part("roles", snapshot.RoleState, lambda major: query("snapshot_roles", major)),
    Part("tablespaces", snapshot.TablespaceState, lambda major: query("snapshot_tablespaces", major)),
    Part("extensions", snapshot.ExtensionState, lambda major: query("snapshot_extensions", major)),
    Part("tables", snapshot.TableState, lambda major: query("snapshot_tables", major)),
    Part(
        "temporary_tables",
        snapshot.TemporaryTable,
        lambda major: query("snapshot_temporary_tables", major),
    ),
    Part("indexes", snapshot.IndexState, lambda major: query("snapshot_indexes", major)),
    Part("foreign_keys", snapshot.ForeignKeyState, lambda major: query("snapshot_foreign_keys", major)),
    Part("sequences", snapshot.SequenceState, lambda major: query("snapshot_sequences", major)),
    Part("triggers", snapshot.TriggerState, lambda major: query("snapshot_triggers", major)),
    Part("columns", snapshot.ColumnSummary, lambda major: query("snapshot_column_statistics", major)),
    Part(
        "extended_statistics",
        snapshot.ExtendedStatisticsState,
        lambda major: query("snapshot_extended_statistics", major),
    ),
    Part(
        "statement_texts",
        snapshot.StatementText,
        lambda major: query("snapshot_statement_texts", major),
        missing=_STATEMENTS,
    ),
    Part("wal_files", snapshot.WalFiles, lambda major: query("snapshot_wal_files", major)),
    Part(
        "shared_memory",
        snapshot.MemoryPart,
        lambda major: query("snapshot_shared_memory", major),
        grant="grant select on pg_shmem_allocations to {role}; "
        "grant execute on function pg_get_shmem_allocations() to {role}",
    ),
    Part(
        "own_memory",
        snapshot.MemoryPart,
        lambda major: query("snapshot_own_memory", major),
        since=14,
        grant="grant select on pg_backend_memory_contexts to {role}; "
        "grant execute on function pg_get_backend_memory_contexts() to {role}",
    ),
)
