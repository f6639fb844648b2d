"""What ``advise`` says: indexes for a whole workload, each measured on a twin. The file advice.json of its run.

Shares are of the server time that the original spent on the statements of the workload, from 0 to 1.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class IndexDefinition(Record):
    """An index as CREATE INDEX makes it. ``table`` is qualified and quoted; keys are quoted columns, with an operator
    class where it is not the default, or expressions in parentheses; ``include`` are quoted columns. ``name`` is bare.
    """

    table: str
    keys: tuple[str, ...]
    name: str
    method: str = "btree"
    include: tuple[str, ...] = ()
    predicate: str | None = None
    is_partitioned: bool = False


class AdviceWord(str, Enum):
    """Whether any index is advised; ``contradicted``: the blocks show that the set takes more server time."""

    ADVISED = "indexes advised"
    CONTRADICTED = "indexes not advised"
    NONE = "no index advised"


class ChosenBy(str, Enum):
    """How the set was chosen: by OR-tools' CP-SAT, or one index after the other where that is not installed."""

    CP_SAT = "CP-SAT"
    GREEDY = "greedy"


class AdviceLimits(Record):
    """``max_size_bytes`` is of all new indexes together; ``max_write_overhead`` the share by which writes may take
    more server time."""

    max_indexes: int
    max_size_bytes: int | None = None
    max_write_overhead: float = 0.05


class StatementServed(Record):
    """One statement without and with the advised indexes. Buffers of 8 kB and the executor's time in ms are per call;
    ``is_at_least`` is whether it was canceled without them, so that its time is a lower bound."""

    query_id: int
    text: str
    time_share: float
    plan: str
    plan_after: str
    buffers: float
    buffers_after: float
    time_ms: float
    time_ms_after: float
    is_at_least: bool = False


class WriteCost(Record):
    """What writes of the workload cost more with an index. ``time_share`` is server time. Bytes of WAL and buffers
    visited are sums over the calls of the workload, without and with it; ``hot_updates`` are calls of updates that
    change no indexed column."""

    time_share: float = 0.0
    wal_bytes: float = 0.0
    wal_bytes_after: float = 0.0
    buffers: float = 0.0
    buffers_after: float = 0.0
    hot_updates: float = 0.0
    hot_updates_after: float = 0.0
    statements: int = 0


class AdvisedIndex(Record):
    """``saved_share`` is what the whole set saves and would not save without this index; ``build_s`` how long CREATE
    INDEX took on the twin's table of ``table_bytes``. ``cost`` is measured with this index alone."""

    definition: IndexDefinition
    create: tuple[str, ...]
    undo: str
    saved_share: float
    size_bytes: int
    build_s: float
    table_bytes: int
    serves: tuple[StatementServed, ...] = ()
    cost: WriteCost = WriteCost()

    @property
    def build_s_per_gb(self) -> float | None:
        """None where the table is too small to say."""
        return self.build_s / (self.table_bytes / 1e9) if self.table_bytes >= 1e7 else None


class DropReason(str, Enum):
    """``duplicate``: another has the same keys. ``prefix``: its keys are the first ones of another. ``replaced``: they
    are those of an advised index, or the first ones. ``unused``: no statement of the workload uses it."""

    DUPLICATE = "duplicate"
    PREFIX = "prefix"
    REPLACED = "replaced"
    UNUSED = "unused"


class DroppableIndex(Record):
    """An index without which no statement of the workload became slower. ``by`` names the index that takes its place.

    ``saved_share`` is what writes save without it.
    """

    name: str
    table: str
    reason: DropReason
    drop: str
    undo: str
    size_bytes: int
    by: str | None = None
    saved_share: float = 0.0


class AdviceStep(Record):
    """The best set with this number of indexes, by single measurements."""

    indexes: int
    saved_share: float


class LeftOutIndex(Record):
    """The whole set against the set without the index ``name``, in the same blocks. ``ratio`` is server time with it
    over without it, with its 95 % CI: below 1 the index saves time that the others do not. ``reason`` says why there is
    no ratio."""

    name: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    blocks: int = 0
    reason: str | None = None


class AdviceProof(Record):
    """The whole set against the twin as it is, in blocks. ``ratio`` is server time with the set over without, with its
    95 % CI, or throughput where ``measure`` is tps. ``reason`` says why there is no ratio: an error's message, or
    the name of an InvalidReason. ``open_share`` is the share of the time in statements that the twin does not
    reproduce, where that leaves the sign open. ``left_out`` are the indexes that were left out in blocks as well, each
    once; the others were left out by single executions alone."""

    word: str | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    measure: str = "server_time"
    blocks: int = 0
    run: str | None = None
    reason: str | None = None
    left_out: tuple[LeftOutIndex, ...] = ()
    open_share: float | None = None


class IndexAdvice(Record):
    """``saved_share`` is what the set saves by executions of single statements, its cost for writes subtracted.

    Of ``candidates`` indexes that statements could use ``measured`` were built in the time that there was, and
    ``in_plans`` of these were used by a statement. ``statements`` were tried, with ``tried_share`` of the time;
    ``left_out`` were not. ``rounds`` is how often a set was measured together. ``counted_s`` is for how long the
    original's statements were counted, None where it does not say; ``idle`` are indexes that none of them used, where
    that was too short to call them unused. ``withdrawn`` were chosen, and the blocks show that they save nothing beyond
    what the others save.
    """

    database: str
    version: str
    word: AdviceWord
    saved_share: float
    chosen_by: ChosenBy
    limits: AdviceLimits
    indexes: tuple[AdvisedIndex, ...] = ()
    drops: tuple[DroppableIndex, ...] = ()
    idle: tuple[str, ...] = ()
    steps: tuple[AdviceStep, ...] = ()
    proof: AdviceProof | None = None
    withdrawn: tuple[IndexDefinition, ...] = ()
    candidates: int = 0
    measured: int = 0
    in_plans: int = 0
    statements: int = 0
    tried_share: float = 0.0
    left_out: int = 0
    rounds: int = 0
    counted_s: float | None = None
    scale: float = 1.0
    budget_s: float = 0.0
    took_s: float = 0.0
    format: int = 1
