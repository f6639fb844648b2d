"""One execution of one arm: the order for it and the record of it."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.dataset import Dataset
from pgclinic.model.doubt import Doubt
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.machine import Machine
from pgclinic.model.pages import PageFacts
from pgclinic.model.processes import ProcessSample
from pgclinic.model.record import Record
from pgclinic.model.resting import RestingUse
from pgclinic.model.sample import Samples
from pgclinic.model.study import Condition, PagesWanted, WarmUpEnd
from pgclinic.model.traffic import Traffic
from pgclinic.model.trial_events import TrialEvents


class ServerSpec(Record):
    """Which server a trial wants: a version or installed binaries (the lab starts it), or an existing one by DSN.

    ``dsn`` never holds a password: it is dropped at the door and kept by the process that was given it. ``existing``
    runs on the tables of that very database, where nothing is created; without ``allow_writes`` in read-only
    transactions. Else each trial has a database of its own there.
    """

    version: str | None = None
    bindir: str | None = None
    dsn: str | None = None
    existing: bool = False
    allow_writes: bool = False


class Counted(str, Enum):
    """What of a load's work is counted, by the second."""

    STATEMENTS = "statements"
    TRANSACTIONS = "transactions"


class StopRule(Record):
    """When a trial may end before its time, because what it would still measure changes nothing.

    With ``reference`` as soon as what is ``counted`` a second lies on one side of that for sure: ``variation`` is the
    coefficient of variation of such a load's seconds. With ``transactions`` as soon as this number is committed.
    """

    reference: float | None = None
    variation: float = 0.0
    transactions: int | None = None
    counted: Counted = Counted.STATEMENTS


class TrialSpec(Record):
    """Everything one trial needs, every value a literal.

    ``load`` has neither an address nor scripts: the trial adds the server's and the traffic's once the server is up.

    ``block`` and ``position`` say where it stands in the counterbalanced order; ``number`` counts all trials from 1.
    With ``wants_plans`` the server logs the plans of the load's statements when the load is over.
    ``stop`` is when it may end before its time.
    """

    number: int
    block: int
    position: int
    arm: str
    server: ServerSpec
    settings: dict[str, str]
    dataset: Dataset
    traffic: Traffic
    condition: Condition
    load: LoadSpec
    probe: str | None = None
    custom_metrics: dict[str, str] = {}
    pages: PagesWanted | None = None
    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME
    wants_plans: bool = False
    stop: StopRule | None = None


class CpuUse(Record):
    """CPU over the measured time, of an interleaved trial over its own windows alone.

    ``others_s`` is what other programs took, steal included; ``kernel_s`` what the
    kernel's own threads did, for whom is not known.

    ``server_s`` is None for a server whose processes cannot be seen from this machine; if it runs here, in a container
    or under another user, its CPU is part of ``others_s``.

    ``pressure_share`` is the share of the time in which some process waited for a CPU (/proc/pressure/cpu), None
    where the kernel does not tell. ``clock_jump_s`` is how far the wall clock went away from the steady one meanwhile.
    ``megahertz_early`` and ``megahertz_late`` are the cores' mean clock in the first and in the last third of the load;
    ``stopped_s`` is for how long a CPU limit stopped the control group, all its cores together.
    ``memory_pressure_share`` and ``io_pressure_share`` are the shares of the time in which some process waited for
    memory or for I/O (/proc/pressure), ``swapped_bytes`` what the machine swapped in and out; None where the kernel
    does not report them.
    """

    elapsed_s: float
    cores: int
    server_s: float | None
    client_s: float
    observer_s: float
    others_s: float
    kernel_s: float = 0.0
    pressure_share: float | None = None
    clock_jump_s: float = 0.0
    megahertz_early: float | None = None
    megahertz_late: float | None = None
    stopped_s: float | None = None
    memory_pressure_share: float | None = None
    io_pressure_share: float | None = None
    swapped_bytes: int | None = None


class Probe(Record):
    """Pages one run of the probe statement visited, hits and reads together, and its plan as text.

    ``pages`` is None where the statement took too long to be run: the plan is then the planner's alone.
    """

    pages: int | None
    plan: str
    sequential_scans: int = 0


class Observed(Record):
    """What was sampled while one trial ran and what the server logged, at seconds since measuring began.

    ``events`` know when each checkpoint and vacuum was and what it did, of which samples see only that it happened.
    """

    samples: Samples = Samples()
    processes: tuple[ProcessSample, ...] = ()
    events: TrialEvents = TrialEvents()


class Pruned(Record):
    """The bound at which a trial was stopped: what it counted a second, between limits, against its ``reference``."""

    rate_per_s: float
    low: float
    high: float
    reference: float


class TrialOutcome(str, Enum):
    """``pruned`` is a trial that was stopped early because it could no longer matter; ``pruned_at`` says by which
    bound."""

    DONE = "done"
    FAILED = "failed"
    PRUNED = "pruned"


class TrialStage(str, Enum):
    """Where a trial failed. ``settings``: the server refused a value. ``start``: it did not start. ``load``: it did,
    and what was to be measured did not come about."""

    SETTINGS = "settings"
    START = "start"
    LOAD = "load"


class TrialRecord(Record):
    """What one trial gave. A failed one has ``failure`` in words, where it ``failed_in``, and no load.

    ``host`` is the host of a fleet that ran it, None for the machine of the command; ``machine`` describes it.

    ``settings`` are those the server itself reported for what the arm set; ``counters`` the mechanism counters over
    the whole measured time, and the study's custom metrics at its end. ``samples``, ``processes`` and ``events``
    are at seconds since measuring began; on disk they lie beside the record. ``resting`` is what the server of an
    interleaved trial used in the windows of the others; then ``load.windows`` has its own.
    """

    spec: TrialSpec
    outcome: TrialOutcome
    started_epoch_us: int
    elapsed_s: float
    server_version: str | None = None
    settings: dict[str, str] = {}
    load: LoadResult | None = None
    samples: Samples = Samples()
    processes: tuple[ProcessSample, ...] = ()
    events: TrialEvents = TrialEvents()
    counters: dict[str, float] = {}
    probe: Probe | None = None
    pages: PageFacts | None = None
    cpu: CpuUse | None = None
    resting: RestingUse | None = None
    doubts: tuple[Doubt, ...] = ()
    failure: str | None = None
    failed_in: TrialStage | None = None
    pruned_at: Pruned | None = None
    host: str | None = None
    machine: Machine | None = None
    format: int = 2
