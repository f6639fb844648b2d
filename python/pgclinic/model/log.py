"""What a server's log tells: entries as they were written, and the events that are read out of them.

Durations are whole microseconds, sizes are bytes, moments are microseconds since 1970 in UTC. None means that this
version of the server, this format or this log_line_prefix does not tell.
"""

from __future__ import annotations

from typing import Literal

from pgclinic.model.record import Record


class LogSettings(Record):
    """What must be known to read a log: the two settings by which the server wrote it.

    ``log_timezone`` resolves the abbreviation behind a time (CET); without it the abbreviations in wide use are known.
    """

    log_line_prefix: str = "%m [%p] "
    log_timezone: str | None = None


class LogFilePosition(Record):
    """How far one file was read. ``inode`` tells a renamed file from a new one of the same name."""

    name: str
    inode: int
    offset: int


class LogPosition(Record):
    """How far a log was read; the empty one is its beginning."""

    files: tuple[LogFilePosition, ...] = ()


class LogCounts(Record):
    """What was met while reading. Nothing is dropped silently: what gave no event is counted here.

    ``not_understood`` are entries that look like none of the English messages known here; a high count means another
    lc_messages. ``unparsed`` are pieces that are no entry at all: another log_line_prefix, a cut line, a program that
    wrote to the same file. ``undated`` are entries whose time zone could not be resolved. Plain logged statements
    (log_statement) are skipped before they are counted as entries.
    """

    bytes_read: int = 0
    entries: int = 0
    events: int = 0
    not_understood: int = 0
    unparsed: int = 0
    undated: int = 0


class LogOrigin(Record):
    """Who wrote an entry, and when. ``query_id`` is that of pg_stat_statements.

    ``line_number`` counts within the session: lines with a prefix in the plain log, entries in the other formats.
    """

    at_us: int | None = None
    pid: int | None = None
    backend_type: str | None = None
    application_name: str | None = None
    user: str | None = None
    database: str | None = None
    session_id: str | None = None
    line_number: int | None = None
    query_id: int | None = None


class LogEntry(Record):
    """One message of the server with all its parts, whatever format it was written in."""

    origin: LogOrigin
    severity: str
    message: str
    sqlstate: str | None = None
    detail: str | None = None
    hint: str | None = None
    context: str | None = None
    statement: str | None = None


class LogEvent(Record, tag_field="event", tag=True):
    """The base of all events."""

    origin: LogOrigin


class CheckpointStarted(LogEvent):
    """``reasons`` as the server words them: wal, time, immediate, force, wait, shutdown, end-of-recovery."""

    restartpoint: bool
    reasons: tuple[str, ...]


class CheckpointCompleted(LogEvent):
    """``interval_us`` is the time from the start of the checkpoint before to the start of this one.

    ``distance_bytes`` is the WAL since the checkpoint before, ``estimate_bytes`` what the server expects of the next.
    """

    restartpoint: bool
    reasons: tuple[str, ...]
    interval_us: int | None
    buffers_written: int
    buffers_share: float
    slru_buffers_written: int | None
    wal_files_added: int
    wal_files_removed: int
    wal_files_recycled: int
    write_us: int
    sync_us: int
    total_us: int
    files_synced: int
    sync_longest_us: int
    sync_average_us: int
    distance_bytes: int
    estimate_bytes: int
    lsn: str | None
    redo_lsn: str | None


class CheckpointsTooFrequent(LogEvent):
    """The server's own complaint that max_wal_size is too small for the writing that goes on."""

    apart_s: int


class ResourceUse(Record):
    """What a vacuum or an analyze cost."""

    buffer_hits: int | None = None
    buffer_reads: int | None = None
    buffers_dirtied: int | None = None
    read_rate_bytes_per_s: float | None = None
    write_rate_bytes_per_s: float | None = None
    io_read_us: int | None = None
    io_write_us: int | None = None
    wal_records: int | None = None
    wal_full_page_images: int | None = None
    wal_bytes: int | None = None
    wal_buffers_full: int | None = None
    cpu_user_us: int | None = None
    cpu_system_us: int | None = None
    delay_us: int | None = None
    elapsed_us: int | None = None


class IndexVacuum(Record):
    """One index of a vacuumed table (14 and later)."""

    name: str
    pages: int
    pages_newly_deleted: int
    pages_deleted: int
    pages_reusable: int


class VacuumLogged(LogEvent):
    """A vacuum that ended. ``table`` is database.schema.name; ``automatic`` is False for VACUUM (VERBOSE).

    ``removable_cutoff`` is the oldest transaction id that somebody might still have needed, ``cutoff_age_xids`` how
    many ids older it was than the newest when the vacuum ended. ``indexes_why`` is the server's wording of what it did
    about the indexes: needed, not needed, bypassed, bypassed by failsafe.
    """

    table: str
    automatic: bool
    aggressive: bool
    to_prevent_wraparound: bool
    index_scans: int
    pages_removed: int | None
    pages_remain: int | None
    pages_scanned: int | None
    pages_eagerly_scanned: int | None
    pages_skipped_pinned: int | None
    pages_skipped_frozen: int | None
    tuples_removed: int | None
    tuples_remain: int | None
    tuples_dead_not_removable: int | None
    tuples_missed: int | None
    removable_cutoff: int | None
    cutoff_age_xids: int | None
    relfrozenxid: int | None
    relfrozenxid_advance: int | None
    pages_frozen: int | None
    tuples_frozen: int | None
    pages_set_all_visible: int | None
    pages_set_all_frozen: int | None
    indexes_why: str | None
    pages_with_dead_items: int | None
    dead_items: int | None
    indexes: tuple[IndexVacuum, ...]
    use: ResourceUse


class AnalyzeLogged(LogEvent):
    """An analyze that ended. ``table`` is database.schema.name."""

    table: str
    automatic: bool
    use: ResourceUse


class TemporaryFile(LogEvent):
    """A temporary file at its removal; ``statement`` is the query that spilled."""

    path: str
    size_bytes: int
    statement: str | None


class LockWait(LogEvent):
    """A wait longer than deadlock_timeout. ``target`` is the server's wording of what is locked."""

    outcome: Literal["still waiting", "acquired", "failed", "deadlock", "deadlock avoided"]
    waiting_pid: int
    mode: str
    target: str
    waited_us: int
    holders: tuple[int, ...]
    queue: tuple[int, ...]
    statement: str | None


class DeadlockProcess(Record):
    """One of those who waited for each other. ``statement`` is what it was doing."""

    pid: int
    mode: str
    target: str
    blocked_by: int
    statement: str | None


class Deadlock(LogEvent):
    """A deadlock; the process of ``origin`` was the one that gave up."""

    processes: tuple[DeadlockProcess, ...]
    statement: str | None


class SlowStatement(LogEvent):
    """A statement with its duration. ``text`` is None, and the phase unknown, when log_duration alone asked for it."""

    duration_us: int
    phase: Literal["statement", "parse", "bind", "execute", "fetch", "unknown"]
    name: str | None
    text: str | None
    parameters: str | None


class PlanLogged(LogEvent):
    """A plan by auto_explain, in the format that its setting asked for."""

    duration_us: int
    plan_format: Literal["text", "json", "xml", "yaml"]
    query_id: int | None
    query_text: str | None
    plan: str


class ContextLine(Record):
    """One memory context. ``more`` counts the children that one line sums up: they have no names."""

    level: int
    name: str
    ident: str | None
    more: int | None
    total_bytes: int
    total_blocks: int
    free_bytes: int
    free_chunks: int
    used_bytes: int


class MemoryDump(LogEvent):
    """The answer to pg_log_backend_memory_contexts. ``complete`` is False when its last lines never came."""

    dumped_pid: int
    contexts: tuple[ContextLine, ...]
    total_bytes: int
    total_blocks: int
    free_bytes: int
    free_chunks: int
    used_bytes: int
    complete: bool


class ErrorLogged(LogEvent):
    """A warning or worse. ``sqlstate`` is None in a stderr log without %e."""

    severity: str
    sqlstate: str | None
    message: str
    statement: str | None


class ProcessEnded(LogEvent):
    """A process of the server that did not end as it should: by a signal, or with an exit code of its own.

    ``running`` is the statement it was at.
    """

    process: str
    ended_pid: int
    signal: int | None
    exit_code: int | None
    running: str | None


Phase = Literal[
    "starting",
    "was shut down",
    "was interrupted",
    "recovering",
    "redo started",
    "redo done",
    "consistent",
    "ready",
    "ready read-only",
    "reloading",
    "shutdown requested",
    "shutting down",
    "stopped",
    "ending all processes",
    "reinitializing",
]


class ServerPhase(LogEvent):
    """A step in the life of the whole server."""

    phase: Phase
    message: str


ConnectionStep = Literal["received", "authenticated", "authorized", "ready", "disconnected"]


class ConnectionLogged(LogEvent):
    """A step of a connection. ``session_us`` is how long it lasted, at its end."""

    step: ConnectionStep
    session_us: int | None


AnyLogEvent = (
    CheckpointStarted
    | CheckpointCompleted
    | CheckpointsTooFrequent
    | VacuumLogged
    | AnalyzeLogged
    | TemporaryFile
    | LockWait
    | Deadlock
    | SlowStatement
    | PlanLogged
    | MemoryDump
    | ErrorLogged
    | ProcessEnded
    | ServerPhase
    | ConnectionLogged
)
