"""What the processes of a server have used, by what they are for."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class ProcessKind(str, Enum):
    """What a process of a server is for, in PostgreSQL's words (backend_type) where it has one.

    ENDED is no process: it is what processes used after they were last seen, together with the few reads and writes
    of the postmaster itself.
    """

    POSTMASTER = "postmaster"
    CLIENT = "client backend"
    PARALLEL = "parallel worker"
    AUTOVACUUM_LAUNCHER = "autovacuum launcher"
    AUTOVACUUM_WORKER = "autovacuum worker"
    CHECKPOINTER = "checkpointer"
    BACKGROUND_WRITER = "background writer"
    WAL_WRITER = "walwriter"
    WAL_SUMMARIZER = "walsummarizer"
    WAL_SENDER = "walsender"
    WAL_RECEIVER = "walreceiver"
    IO_WORKER = "io worker"
    STARTUP = "startup"
    ARCHIVER = "archiver"
    LOGGER = "logger"
    STATS_COLLECTOR = "stats collector"
    LOGICAL_LAUNCHER = "logical replication launcher"
    LOGICAL_WORKER = "logical replication worker"
    SLOT_SYNC = "slotsync worker"
    BACKGROUND_WORKER = "background worker"
    STARTING = "starting"
    ENDED = "ended unseen"


class ProcessUse(Record):
    """Cumulative use of the machine, as the kernel counts it.

    ``read_calls`` and ``write_calls`` are system calls (network included), ``read_chars`` and ``write_chars`` the bytes
    that they moved, ``read_bytes`` and ``write_bytes`` those that storage saw. A major fault waited for storage.
    Leaving a processor is voluntary when the process waits, involuntary when another one is given its turn.
    """

    user_s: float = 0.0
    system_s: float = 0.0
    read_calls: int = 0
    write_calls: int = 0
    read_chars: int = 0
    write_chars: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s


class ProcessRow(Record):
    """One living process and what it has used since it began. ``rss_anon_bytes`` is the memory it has for itself.

    ``io_known`` is False where this user may not see its reads and writes; they are 0 then.
    """

    pid: int
    kind: ProcessKind
    title: str
    use: ProcessUse
    rss_anon_bytes: int
    io_known: bool = True


class KindRow(Record):
    """All processes of one kind. ``use`` never falls: what has ended since counts as it was last seen.

    ``alive`` is their number now, ``seen`` that of all that were ever seen. ``rss_anon_bytes`` is the sum now.
    """

    kind: ProcessKind
    alive: int
    seen: int
    use: ProcessUse
    rss_anon_bytes: int
    io_known: bool = True


class ProcessSample(Record):
    """One look at all processes of a server at ``at_s`` (epoch seconds).

    ``pressure_some_us`` is the time since boot in which some task of the machine waited for a processor, in
    microseconds; None where the kernel does not tell.
    """

    at_s: float
    kinds: tuple[KindRow, ...]
    pressure_some_us: int | None = None

    def of(self, kind: ProcessKind) -> KindRow | None:
        """The row of that kind, None when no such process was ever seen."""
        return next((row for row in self.kinds if row.kind is kind), None)
