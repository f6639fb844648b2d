"""What a server's log says of a stretch of time: events counted by kind, with an example of each."""

from __future__ import annotations

from pgclinic.model.query_plan import QueryPlan
from pgclinic.model.record import Record


class LoggedMessage(Record):
    """A message without its names and figures, how often it came, and its SQLSTATE where the log has one."""

    severity: str
    sqlstate: str | None
    text: str
    times: int


class LoggedVacuum(Record):
    """Automatic vacuums of one table: how many, how long together, and rows that could not be removed at last."""

    table: str
    runs: int
    seconds: float
    removed: int
    unremovable: int
    index_scans_max: int
    aggressive: int


class LoggedSpill(Record):
    """Temporary files of one statement, whose constants are question marks; empty for those without a statement."""

    statement: str
    files: int
    bytes: int


class ServerLog(Record):
    """``seconds`` is the time between the first and the last entry. Bytes and seconds throughout.

    ``bytes_read`` is less than ``bytes_all`` where only the end of a large log was read. ``not_understood`` are entries
    in another language, and pieces that another log_line_prefix wrote. ``checkpoint_apart_s`` is the mean time between
    the starts of checkpoints. ``killed_by_signal`` counts processes by the name of the signal, ``crash_statements``
    are those that they ran. ``plans`` are those of auto_explain, the statements with the most time in them first.
    """

    path: str
    bytes_read: int
    entries: int
    not_understood: int
    seconds: float
    checkpoints: int = 0
    checkpoints_by_wal: int = 0
    checkpoints_too_frequent: int = 0
    checkpoint_apart_s: float | None = None
    checkpoint_sync_s_max: float | None = None
    temporary_files: int = 0
    temporary_bytes: int = 0
    lock_waits: int = 0
    lock_wait_s_max: float | None = None
    deadlocks: int = 0
    connections: int = 0
    connections_refused: int = 0
    crashes: int = 0
    killed_by_signal: dict[str, int] = {}
    out_of_memory: int = 0
    slow_statements: int = 0
    vacuums: tuple[LoggedVacuum, ...] = ()
    messages: tuple[LoggedMessage, ...] = ()
    bytes_all: int = 0
    spills: tuple[LoggedSpill, ...] = ()
    crash_statements: tuple[str, ...] = ()
    plans: tuple[QueryPlan, ...] = ()
