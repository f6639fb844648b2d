"""One execution of one arm: the order for it and the record of it."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.pages import PageFacts
from pgclinic.model.processes import ProcessSample
from pgclinic.model.record import Record
from pgclinic.model.sample import Samples
from pgclinic.model.study import Condition, PagesWanted, WarmUpEnd
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


class TrialSpec(Record):
    """Everything one trial needs, every value a literal. ``load.target`` is filled in once the server is up.

    ``block`` and ``position`` say where it stands in the counterbalanced order; ``number`` counts all trials from 1.
    With ``wants_plans`` the server logs the plans of the load's statements when the load is over.
    """

    number: int
    block: int
    position: int
    arm: str
    server: ServerSpec
    settings: dict[str, str]
    fill: str
    condition: Condition
    load: LoadSpec
    probe: str | None = None
    gauges: dict[str, str] = {}
    pages: PagesWanted | None = None
    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME
    wants_plans: bool = False


class DoubtKind(str, Enum):
    """A typed reason to distrust a trial."""

    STARVED_CPU = "starved_cpu"
    CLIENT_BOUND = "client_bound"
    FAILED_TRANSACTIONS = "failed_transactions"
    CLOCK_JUMP = "clock_jump"
    NO_COUNTERS = "no_counters"
    SHORT_TRIAL = "short_trial"
    SERVER_NOT_VISIBLE = "server_not_visible"
    SETTING_LEFT_OUT = "setting_left_out"
    ARM_LEFT_OUT = "arm_left_out"
    NO_STEADY_STATE = "no_steady_state"
    CHECKPOINT_IN_ONE_ARM = "checkpoint_in_one_arm"
    THROTTLING = "throttling"
    OBSERVERS_COST = "observers_cost"
    TOO_FEW_EVENTS = "too_few_events"
    DIFFERENT_MACHINE = "different_machine"
    PRELUDE_REFUSED = "prelude_refused"
    CALIBRATION_FAILED = "calibration_failed"
    STALLED_TRIAL = "stalled_trial"
    ORDER_EFFECT = "order_effect"
    TRIALS_LOST = "trials_lost"
    AUTOVACUUM_IN_ONE_ARM = "autovacuum_in_one_arm"
    PLANS_DIFFER = "plans_differ"
    MEMORY_PRESSURE = "memory_pressure"
    IO_PRESSURE = "io_pressure"
    UNEQUAL_CPU = "unequal_cpu"
    UNEVEN_BLOCKS = "uneven_blocks"
    STOPPED_LOAD = "stopped_load"


class Doubt(Record):
    """``share`` is how much of it there was (of 1); ``advice`` what the reader can do about it."""

    kind: DoubtKind
    text: str
    advice: str
    share: float | None = None


class CpuUse(Record):
    """CPU over the measured time. ``others_s`` is what everything but this trial took, steal included.

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


class TrialOutcome(str, Enum):
    DONE = "done"
    FAILED = "failed"


class TrialRecord(Record):
    """What one trial gave. A failed one has ``failure`` in words and no load.

    ``settings`` are those the server itself reported for what the arm set; ``counters`` the mechanism counters over
    the whole measured time, and the study's gauges at its end. ``samples``, ``processes`` and ``events``
    are at seconds since measuring began; on disk they lie beside the record.
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
    doubts: tuple[Doubt, ...] = ()
    failure: str | None = None
    format: int = 1
