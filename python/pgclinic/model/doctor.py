"""What ``pgclinic doctor`` reads of a machine, and what each reading does to verdicts. Bytes and seconds."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.host import HostState
from pgclinic.model.machine import Machine
from pgclinic.model.record import Record


class IoUringState(str, Enum):
    """Whether this process may make an io_uring. ``disabled``: by kernel.io_uring_disabled; ``refused``: by a filter
    of system calls, as in most containers; ``missing``: the kernel has none."""

    USABLE = "usable"
    DISABLED = "disabled"
    REFUSED = "refused"
    MISSING = "missing"


class FlushRate(Record):
    """A block of 8 kB written at one place and flushed by fdatasync, again and again for ``elapsed_s``."""

    flushes: int
    elapsed_s: float
    flush_us_p50: float
    flush_us_p90: float

    @property
    def flushes_per_s(self) -> float:
        return self.flushes / self.elapsed_s if self.elapsed_s > 0 else 0.0


class LabHome(Record):
    """Where the lab keeps its files. ``problem`` says why it cannot be used; the rest is then not known.

    ``account`` runs the servers where the caller is root, None where the caller does.
    """

    path: str
    account: str | None
    problem: str | None = None
    hint: str | None = None
    filesystem: str | None = None
    bytes_free: int | None = None
    flush: FlushRate | None = None


class StartableVersion(Record):
    """A version that can be started without a download. ``jit``: it has the library of PostgreSQL's JIT."""

    version: str
    source: str
    jit: bool


class LeftoverKind(str, Enum):
    """``build`` is a half-built version, cluster or template; ``shared_memory`` a segment that no process uses;
    ``database`` one of a trial on an existing server."""

    SERVER = "server"
    BUILD = "build"
    UNREADABLE_ENTRY = "unreadable_entry"
    SHARED_MEMORY = "shared_memory"
    DATABASE = "database"


class Leftover(Record):
    """Something that a killed command has left. ``command`` removes it."""

    kind: LeftoverKind
    name: str
    reason: str
    command: str
    processes: int = 0
    bytes: int = 0


class BusyProgram(Record):
    """A program beside us by its name; ``cores`` is what its processes used, in processors."""

    name: str
    cores: float


class InstalledExtra(Record):
    """An extra of the package, such as advise, and whether all that it needs is installed."""

    name: str
    installed: bool


class DoctorReadings(Record):
    """All that was read. ``others_cores`` is the CPU of everything but this command, in processors.

    ``clock_read_ns`` is what one reading of the clock takes. ``perf_event_paranoid`` is the kernel's setting; None is
    what could not be read. ``measuring``: another command of pgclinic measures now.
    """

    machine: Machine
    host: HostState | None
    home: LabHome
    engine_profile: str
    versions: tuple[StartableVersion, ...]
    extras: tuple[InstalledExtra, ...]
    leftovers: tuple[Leftover, ...]
    programs: tuple[BusyProgram, ...]
    others_cores: float | None
    measuring: bool
    clock_read_ns: float
    io_uring: IoUringState
    perf_event_paranoid: int | None
    perf_allowed: bool


class CheckName(str, Enum):
    HOME = "lab home"
    ACCOUNT = "account"
    ENGINE = "load engine"
    VERSIONS = "versions"
    DISK_SPACE = "disk space"
    MEMORY = "memory"
    CORES = "cores"
    LIMITS = "limits"
    OTHER_PROGRAMS = "other programs"
    LEFTOVERS = "leftovers"
    STOLEN_CPU = "stolen CPU"
    GOVERNOR = "governor"
    CLOCK_SOURCE = "clock source"
    DISK_FLUSH = "disk flush"
    HUGE_PAGES = "huge pages"
    IO_URING = "io_uring"
    PERF = "perf"
    JIT = "JIT"
    EXTRAS = "extras"


class CheckState(str, Enum):
    """``blocks``: no server of the lab can run. ``helps``: a change would make verdicts better."""

    BLOCKS = "blocks"
    HELPS = "helps"
    FINE = "fine"


class VerdictCost(str, Enum):
    """What a reading costs the verdict. ``run``: there is none. ``width``: intervals are wider, or need more blocks.
    ``bias``: the ratio is of something else than the server. ``evidence``: less is known about causes.
    ``coverage``: some questions cannot be asked here. ``space``: disk or memory is held by nothing."""

    RUN = "run"
    WIDTH = "width"
    BIAS = "bias"
    EVIDENCE = "evidence"
    COVERAGE = "coverage"
    SPACE = "space"


class MachineCheck(Record):
    """One reading, judged. ``command`` improves it, ``cost`` is what it costs the verdict; both are None where it is
    fine."""

    name: CheckName
    state: CheckState
    cost: VerdictCost | None = None
    command: str | None = None
