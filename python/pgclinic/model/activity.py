"""What servers and sessions did: of one trial, and of two arms side by side with what explains their difference."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class WorkKind(str, Enum):
    """What a server does for a transaction. Bytes in bytes, times in microseconds, the rest in numbers."""

    TEMPORARY_FILES = "temporary_files"
    BUFFER_READS = "buffer_reads"
    WAL = "wal"
    FULL_PAGE_IMAGES = "full_page_images"
    BUFFERS = "buffers"
    SEQUENTIAL_SCANS = "sequential_scans"
    CPU = "cpu"


class WorkCompared(Record):
    """Means over the blocks, per transaction; ``a_per_s`` and ``b_per_s`` are the same by the second.

    ``clear`` says that the difference is beyond what one block differs from another by chance.
    """

    work: WorkKind
    a: float
    b: float
    a_per_s: float
    b_per_s: float
    clear: bool


class WaitCompared(Record):
    """How many sessions of the load waited for ``wait`` at a time, on average; ``running`` for those that did not wait.

    ``explains`` is its share of the difference in session time per transaction, None without a difference.
    """

    wait: str
    a: float
    b: float
    clear: bool
    explains: float | None = None


class StatementCompared(Record):
    """One statement's time per transaction in microseconds, and the nodes of its plan from the top; None where an arm
    does not run it. ``explains`` as in WaitCompared."""

    text: str
    a_us: float | None
    b_us: float | None
    clear: bool
    a_plan: tuple[str, ...] = ()
    b_plan: tuple[str, ...] = ()
    plans_differ: bool = False
    explains: float | None = None


class Activity(Record):
    """All of it, what takes most time first. ``a_sessions`` and ``b_sessions`` are the sessions of the load.

    ``wait_groups`` are the same waits put together: all that wait for the WAL, for data files, for locks.
    """

    a_sessions: int
    b_sessions: int
    work: tuple[WorkCompared, ...] = ()
    waits: tuple[WaitCompared, ...] = ()
    wait_groups: tuple[WaitCompared, ...] = ()
    statements: tuple[StatementCompared, ...] = ()


class CauseKind(str, Enum):
    PLAN = "plan"
    WORK = "work"
    WAIT = "wait"


class Cause(Record):
    """A clear difference that makes the slower arm slower; ``kind`` says which of ``plan``, ``work``, ``wait`` is set.

    ``effect`` is from 0 to 1: of plans and waits the share of the difference in session time per transaction that they
    account for, of work how much of the slower arm's is more than the faster one's.
    """

    kind: CauseKind
    effect: float
    plan: StatementCompared | None = None
    work: WorkCompared | None = None
    wait: WaitCompared | None = None


class StatementShare(Record):
    """One statement, or one of TPC-C's transactions: its time per transaction of the load, in microseconds as clients
    waited for it, and that as a share of the time that a session has for a transaction."""

    text: str
    us: float
    share: float


class TrialActivity(Record):
    """What the time of one trial went into.

    ``waits`` are shares, of 1, of the time of the load's ``sessions`` by groups of wait events, most first: ``running``
    for sessions that did not wait, ``idle`` for those that waited for their client. They rest on ``samples`` samples.
    ``work`` is what the server did per transaction: bytes, microseconds of CPU, numbers of the rest.
    ``session_us`` is the time that a session has for a transaction. ``checkpoints`` and ``autovacuums`` are those that
    ended while measuring, None where the server did not show them.
    """

    sessions: int
    session_us: float
    samples: int
    waits: dict[str, float] = {}
    work: dict[WorkKind, float] = {}
    checkpoints: int | None = None
    autovacuums: int | None = None
    statements: tuple[StatementShare, ...] = ()
