"""Findings of a checkup: a known illness, seen on a server, with what shows it, what it costs and what cures it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from pgclinic.model.doubt import Doubt
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.record import Record
from pgclinic.model.rewrite import Rewrite


class Severity(str, Enum):
    """``notice`` costs little or may cost later, ``warning`` costs now, ``critical`` is or will soon be an outage."""

    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return tuple(Severity).index(self)


class Health(str, Enum):
    """The verdict of a checkup: that of its worst finding."""

    OK = "ok"
    WATCH = "watch"
    SICK = "sick"
    CRITICAL = "critical"


class Confidence(str, Enum):
    """``certain``: what was read leaves no other explanation; ``likely``; ``possible``: a hint that needs a proof."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Role(str, Enum):
    """Whether a pathology makes others, or is usually made by one."""

    CAUSE = "cause"
    SYMPTOM = "symptom"


class Area(str, Enum):
    """What part of a server a pathology is of."""

    SETTINGS = "settings"
    SESSIONS = "sessions and horizon"
    VACUUM = "vacuum and bloat"
    SCHEMA = "indexes and schema"
    PLANNER = "planner and statistics"
    STATEMENTS = "statements"
    LOCKS = "transactions and locks"
    WAL = "WAL and checkpoints"
    CONNECTIONS = "connections and memory"
    IO = "I/O"
    LOGGING = "logging and monitoring"
    REPLICATION = "replication and slots"
    WRAPAROUND = "sequences and wraparound"
    PARTITIONS = "partitions"
    EXTENSIONS = "extensions"
    MACHINE = "the machine"


class Unit(str, Enum):
    """What a number is of; the report gives it its sign and as many digits as it is worth."""

    TEXT = ""
    COUNT = "count"
    SHARE = "share"
    RATIO = "ratio"
    BYTES = "bytes"
    BYTES_PER_S = "bytes/s"
    PER_S = "1/s"
    SECONDS = "s"
    MILLISECONDS = "ms"
    DAYS = "days"
    ROWS = "rows"
    BUFFERS = "buffers"
    TRANSACTIONS = "transactions"


class Fact(Record):
    """One figure or word of an evidence. ``name`` is a term as people read it: ``dead rows``, ``last autovacuum``."""

    name: str
    value: int | float | str
    unit: Unit = Unit.TEXT


class SubjectKind(str, Enum):
    """What an evidence is about."""

    SETTING = "setting"
    SESSION = "session"
    STATEMENT = "statement"
    TABLE = "table"
    INDEX = "index"
    SEQUENCE = "sequence"
    SLOT = "slot"
    STANDBY = "standby"
    PREPARED = "prepared transaction"
    DATABASE = "database"
    ROLE = "role"
    EXTENSION = "extension"
    FUNCTION = "function"
    LOG = "log"
    MACHINE = "machine"
    SERVER = "server"


class Evidence(Record):
    """One thing that was seen. ``name`` is what it is called: a qualified table, a setting, the text of a statement.

    ``pid`` is that of a session, ``query_id`` that of a statement, ``file`` and ``line`` are where a setting is set.
    """

    kind: SubjectKind
    name: str
    facts: tuple[Fact, ...] = ()
    pid: int | None = None
    query_id: int | None = None
    file: str | None = None
    line: int | None = None


class TimeClaim(Record):
    """Which part of the time of active sessions a finding accounts for. What fits any of these is of it.

    ``waits`` are TYPE:EVENT, or TYPE: for all of a type; ``query_ids`` are statements, ``backend_types`` kinds of
    processes. ``fraction`` is the part of what fits that is of the finding, 0 to 1: that of the time which its cure
    would save, where that is known. ``fractions`` are those of each of ``query_ids`` where they differ. With
    ``at_most`` a cure saves some part of this time, and nobody knows which.
    """

    waits: tuple[str, ...] = ()
    query_ids: tuple[int, ...] = ()
    backend_types: tuple[str, ...] = ()
    fraction: float = 1.0
    fractions: tuple[float, ...] = ()
    at_most: bool = False

    @property
    def by_statement(self) -> Mapping[int, float]:
        """The part of the time of each statement."""
        return dict(zip(self.query_ids, self.fractions or (self.fraction,) * len(self.query_ids), strict=True))

    @property
    def is_of_statements(self) -> bool:
        """Whether it is a part of the time of statements alone, which their counters know better than samples."""
        return bool(self.query_ids) and not self.waits and not self.backend_types


class ShareBasis(str, Enum):
    """How the share of the time that a finding has is known."""

    COUNTERS = "counters of statements"
    SAMPLES = "samples of active sessions"
    PLANS = "plans on the twin"


class CostKind(str, Enum):
    """What a finding costs, in a unit that a person cares about."""

    TIME_SHARE = "share of the time of all statements"
    WAIT_S_PER_S = "seconds of waiting in each second"
    SPACE_BYTES = "bytes on disk"
    MEMORY_BYTES = "bytes of memory"
    WAL_BYTES_PER_S = "bytes of WAL a second"
    IO_BYTES_PER_S = "bytes of I/O a second"
    DAYS_LEFT = "days until it stops"
    SECONDS_LEFT = "seconds until throughput halves"
    BUFFERS_PER_LOOKUP = "buffers a lookup visits"
    FAILURES_PER_S = "failures a second"
    COMMITS_LOST_S = "seconds of commits that a crash loses"
    CPU_SHARE = "share of all CPU"


class Cost(Record):
    """``value`` in the unit of ``kind``; ``basis`` are the figures it was computed from."""

    kind: CostKind
    value: float
    basis: tuple[Fact, ...] = ()


class Applies(str, Enum):
    """How a treatment is given."""

    STATEMENT = "statement"
    RELOAD = "reload"
    RESTART = "restart"
    APPLICATION = "application"
    MACHINE = "machine"


class Treatment(Record):
    """What to do: statements, settings, or for what no command can change, words.

    ``lock`` is the lock that the statements take, ``undo`` the statements that take them back, ``undo_settings`` the
    values from before (None removes a line). ``prevents`` marks what keeps the illness from coming again. ``rewrite``
    is a statement of the application's written anew.
    """

    title: str
    applies: Applies
    sql: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    lock: str | None = None
    risk: str = ""
    undo: tuple[str, ...] = ()
    undo_settings: dict[str, str | None] = {}
    prevents: bool = False
    rewrite: Rewrite | None = None


class Proof(Record):
    """What an experiment on a treatment gave. ``run`` is the folder of its run; the ratio is treated / as it is.

    ``plans`` is what plans and buffers on the twin say, ``blocks`` the word of blocks of trials; each is None where
    that was not run. ``word`` is that of the blocks where they decide, else that of the plans. Without any ``reason``
    says why there is none, and with a word by plans why there is none by blocks. ``measure`` is what the ratio is of:
    the time of the original's statements on the server (``server_time``, less is better), ``tps``, or a counter.
    ``outside_share`` is the part of the original's statement time that the twin does not reproduce, which ``low`` and
    ``high`` allow for. ``tps_ratio`` is that of ``sessions`` closed-loop sessions on the twin, None where commits per
    statement are not those of the original.
    ``doubts`` are those of its blocks, such as other programs that took the CPU. ``log_e_value`` is what its blocks say
    against "no difference", ``upheld_together`` whether they do among all proofs by blocks of the checkup, of
    which there are ``together``; None for a proof alone.
    """

    treatment: int
    word: str | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    measure: str = ""
    on: str = ""
    run: str | None = None
    reason: str | None = None
    mechanism: tuple[Fact, ...] = ()
    elsewhere: tuple[Fact, ...] = ()
    plans: PlanProof | None = None
    blocks: str | None = None
    outside_share: float | None = None
    tps_ratio: float | None = None
    sessions: int | None = None
    doubts: tuple[Doubt, ...] = ()
    log_e_value: float | None = None
    upheld_together: bool | None = None
    together: int | None = None


class CureStep(Record):
    """Treatment number ``treatment`` of the finding ``finding`` (its key), as part of a set of cures."""

    finding: str
    treatment: int


class Cure(Record):
    """The set of treatments that cured by themselves, tried together against the server as it is."""

    steps: tuple[CureStep, ...]
    proof: Proof


class Finding(Record):
    """A pathology that was seen. ``key`` is the pathology and its subject; it is the same in the next checkup.

    ``tables`` are the qualified names of those that it hurts. ``time_share`` is the part of the time that it and what
    it explains account for, that which a cure would save where this is known: by samples that of active sessions, else
    that of all statements. No two causes have the same second of a statement. Where plans on the twin have measured it,
    ``estimated_share`` is what was claimed before. ``explained_by`` are keys of the findings that cause it. A cause has
    the severity of the worst finding that it explains.
    """

    key: str
    pathology: str
    title: str
    area: Area
    role: Role
    subject: str
    severity: Severity
    confidence: Confidence
    mechanism: str
    evidence: tuple[Evidence, ...]
    tables: tuple[str, ...] = ()
    cost: Cost | None = None
    claim: TimeClaim | None = None
    time_share: float | None = None
    time_share_by: ShareBasis | None = None
    estimated_share: float | None = None
    treatments: tuple[Treatment, ...] = ()
    explained_by: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    no_proof: str | None = None
