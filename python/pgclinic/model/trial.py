"""One execution of one arm: the order for it and the record of it."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.record import Record
from pgclinic.model.study import Condition, Counter


class ServerWanted(Record):
    """Which server a trial wants: a version or installed binaries (the lab starts it), or an existing one by DSN.

    ``dsn`` never holds a password: it is dropped at the door and kept by the process that was given it.
    """

    version: str | None = None
    bindir: str | None = None
    dsn: str | None = None


class TrialSpec(Record):
    """Everything one trial needs, every value a literal. ``load.target`` is filled in once the server is up.

    ``block`` and ``position`` say where it stands in the randomised order; ``number`` counts all trials from 1.
    """

    number: int
    block: int
    position: int
    arm: str
    server: ServerWanted
    settings: dict[str, str]
    fill: str
    condition: Condition
    load: LoadSpec
    probe: str | None = None


class DoubtKind(str, Enum):
    """A typed reason to distrust a trial."""

    STARVED_CPU = "starved_cpu"
    CLIENT_BOUND = "client_bound"
    FAILED_TRANSACTIONS = "failed_transactions"
    CLOCK_JUMP = "clock_jump"
    NO_COUNTERS = "no_counters"
    SHORT_TRIAL = "short_trial"


class Doubt(Record):
    """``share`` is how much of it there was (of 1); ``advice`` what the reader can do about it."""

    kind: DoubtKind
    text: str
    advice: str
    share: float | None = None


class CpuUse(Record):
    """CPU over the measured time. ``others_s`` is what everything but this trial took, steal included.

    ``pressure_share`` is the share of the time in which some process waited for a CPU (/proc/pressure/cpu), None
    where the kernel does not tell. ``clock_jump_s`` is how far the wall clock went away from the steady one meanwhile.
    """

    elapsed_s: float
    cores: int
    server_s: float
    client_s: float
    observer_s: float
    others_s: float
    pressure_share: float | None = None
    clock_jump_s: float = 0.0


class CounterSample(Record):
    """Cumulative counters of the database, sampled ``at_s`` seconds after measuring began.

    Samples of the warm-up have a negative ``at_s``. While a trial runs, ``at_s`` is the epoch second.
    """

    at_s: float
    buffer_hits: int
    buffer_reads: int
    commits: int


class Probe(Record):
    """Pages one run of the probe statement visited, hits and reads together, and its plan as text."""

    pages: int
    plan: str


class TrialOutcome(str, Enum):
    DONE = "done"
    FAILED = "failed"


class TrialRecord(Record):
    """What one trial gave. A failed one has ``failure`` in words and no load.

    ``settings`` are those the server itself reported for what the arm set; ``counters`` the mechanism counters over
    the whole measured time.
    """

    spec: TrialSpec
    outcome: TrialOutcome
    started_epoch_us: int
    elapsed_s: float
    server_version: str | None = None
    settings: dict[str, str] = {}
    load: LoadResult | None = None
    samples: tuple[CounterSample, ...] = ()
    counters: dict[Counter, float] = {}
    probe: Probe | None = None
    cpu: CpuUse | None = None
    doubts: tuple[Doubt, ...] = ()
    failure: str | None = None
    format: int = 1
