"""What the statements of a migration lock on the rows of a twin, and for how long."""

from __future__ import annotations

from pgclinic.model.record import Record


class TableLock(Record):
    """A lock on a table, index or view that was there before. ``mode`` is as pg_locks has it: AccessExclusiveLock.

    ``held_s`` is from the start of the statement that took it to the end of its transaction, in seconds. ``rows`` are
    those of the table by its statistics, None without any.
    """

    relation: str
    mode: str
    held_s: float
    rows: float | None


class MigrationStatement(Record):
    """One statement, in the order of the file; ``locks`` are those that it took, the strongest first.

    ``rewritten`` are the tables and indexes that it wrote anew. ``sampled`` marks a statement that cannot run in a
    transaction, such as CREATE INDEX CONCURRENTLY: its locks were looked at while it ran, every few milliseconds.
    """

    text: str
    elapsed_s: float
    locks: tuple[TableLock, ...]
    rewritten: tuple[str, ...] = ()
    sampled: bool = False


class Migration(Record):
    """Measured once, in a server on which nothing else ran; the time to wait for a lock is not in it.

    ``scale`` is how many rows the twin has per row of its original.
    """

    statements: tuple[MigrationStatement, ...]
    scale: float
