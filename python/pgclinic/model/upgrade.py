"""What another major version does to a workload: what has to be done before, and how each statement changes."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.compare import Comparison
from pgclinic.model.record import Record


class SettingChangeKind(str, Enum):
    """``gone``: the target has no such setting. ``renamed``: it has it under another name. ``refused``: it refuses the
    original's value. ``read_otherwise``: its type or its base unit differs, so a bare number means something else.
    ``default``: the original has the default, which is another one there."""

    GONE = "gone"
    RENAMED = "renamed"
    REFUSED = "refused"
    READ_OTHERWISE = "read_otherwise"
    DEFAULT = "default"


class SettingChange(Record):
    """One setting. ``before`` and ``after`` are values, or names or units, of both versions as SHOW prints them; None
    where there is none. ``detail`` is what PostgreSQL says of a refused value.

    ``is_known`` is False where a twin does not record whether the original has the default.
    """

    setting: str
    kind: SettingChangeKind
    before: str | None = None
    after: str | None = None
    detail: str = ""
    is_known: bool = True


class ExtensionChange(Record):
    """An extension of the original and the version that either release brings; None where it brings none."""

    name: str
    before: str | None
    after: str | None


class CollationChange(Record):
    """A collation that so many ``indexes`` are sorted by, which have to be rebuilt where its version changes.

    ``before`` and ``after`` are the versions that the libraries of both releases have in the lab. None: it is that of
    the original's machine, which the lab does not have.
    """

    name: str
    indexes: int
    before: str | None = None
    after: str | None = None


class LockRoom(Record):
    """More ``tables`` than the lock table has room for: pg_dump, and so pg_upgrade, locks all of them at once.

    ``room`` is ``max_locks_per_transaction`` for each of ``sessions``, which are connections and prepared transactions;
    ``enough`` is the value that has room for all tables.
    """

    tables: int
    room: int
    max_locks_per_transaction: int
    sessions: int
    enough: int


class RefusedBySide(Record):
    """An object of the schema that the target refuses and the original's version makes; ``reason`` is the server's."""

    kind: str
    name: str
    reason: str


class RefusedStatement(Record):
    """A statement of the workload that the target does not parse. ``time_share`` is of the original's, 0 to 1."""

    query_id: int
    text: str
    time_share: float
    reason: str


class Preflight(Record):
    """What is known before any statement runs. ``skipped`` are objects that neither version was given or makes."""

    settings: tuple[SettingChange, ...] = ()
    extensions: tuple[ExtensionChange, ...] = ()
    objects: tuple[RefusedBySide, ...] = ()
    statements: tuple[RefusedStatement, ...] = ()
    skipped: tuple[RefusedBySide, ...] = ()
    collations: tuple[CollationChange, ...] = ()
    locks: LockRoom | None = None
    elapsed_s: float = 0.0


class UpgradeWord(str, Enum):
    """What becomes of one statement. ``unchanged`` lies within what the old version shows against itself.

    ``open``: the executions do not decide. ``other_rows``: it returns another number of rows on the two twins, so its
    times say nothing. ``not_run``: it takes too long or the server refuses the values.
    """

    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    OPEN = "open"
    OTHER_ROWS = "other_rows"
    NOT_RUN = "not_run"


class UpgradeCauseKind(str, Enum):
    """``default``: a default that changed. ``feature``: a planner switch that the old version does not have.
    ``jit``: just-in-time compilation. ``plan``: a kind of plan node that both versions have."""

    DEFAULT = "default"
    FEATURE = "feature"
    JIT = "jit"
    PLAN = "plan"


class UpgradeCause(Record):
    """What restores the old figure when it is switched back on the new version.

    ``ratio`` is the statement's time on the new version with ``settings`` to its time there without them; ``ms`` the
    former. ``restored`` is the share of the logarithm of the slowdown that it takes back.
    """

    kind: UpgradeCauseKind
    settings: dict[str, str]
    ms: float
    ratio: float
    restored: float


class StatementUpgraded(Record):
    """One statement on both versions. Times are the executor's, in ms per call; planning apart. Buffers are 8 kB.

    ``ratio`` with ``low`` and ``high`` (a simultaneous 95 % CI over all statements) is new to old; ``same_ratio`` that
    of two servers of the old version, and ``margin`` the ratio that a change has to exceed for that reason.
    ``plan_varies``: the old version's own plan depends on the sample that ANALYZE takes. ``at_least`` says that the new
    version was stopped at the time limit. ``since`` is the major release in which it changed, where that was sought.
    """

    query_id: int
    text: str
    time_share: float
    word: UpgradeWord
    before_ms: float | None = None
    after_ms: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    same_ratio: float | None = None
    margin: float | None = None
    before_planning_ms: float | None = None
    after_planning_ms: float | None = None
    before_buffers: float | None = None
    after_buffers: float | None = None
    before_plan: str | None = None
    after_plan: str | None = None
    plan_changed: bool = False
    plan_varies: bool = False
    at_least: bool = False
    executions: int = 0
    cause: UpgradeCause | None = None
    tried_causes: int = 0
    since: str | None = None


class MissingStatistics(str, Enum):
    """What pg_upgrade leaves behind: all statistics of the planner before 18, extended ones always."""

    ALL = "all"
    EXTENDED = "extended"


class StatementBeforeAnalyze(Record):
    """A statement whose plan is another one until ANALYZE has run. ``ms`` is its time then, in ms per call;
    ``before_ms`` on the old version and ``after_ms`` on the new one with statistics. ``at_least``: it was stopped."""

    query_id: int
    text: str
    time_share: float
    before_ms: float | None
    after_ms: float | None
    ms: float | None
    plan: str
    at_least: bool = False


class BeforeAnalyze(Record):
    """The time between pg_upgrade and ANALYZE. ``planned`` statements were planned without these statistics.

    ``analyze_s`` is how long ANALYZE of the twin took.
    """

    missing: MissingStatistics
    planned: int
    statements: tuple[StatementBeforeAnalyze, ...]
    analyze_s: float | None = None


class Upgrade(Record):
    """The answer. ``before`` and ``after`` are releases, such as 14.24 and 18.6.

    ``statements`` are those that were tried, slower ones first. ``of_statements`` is how many the workload has, and
    ``tried_time_share`` which part of the original's statement time was tried. ``same_spread`` is the ratio within
    which 95 % of the statements lie when the old version runs against itself. ``comparison`` is that of the blocks,
    None where there was no time for them; ``unjudged`` are the thresholds that were given and have no blocks then.
    ``bisected`` are the releases between that were tried for ``--bisect``.
    """

    database: str
    before: str
    after: str
    preflight: Preflight
    statements: tuple[StatementUpgraded, ...]
    of_statements: int
    tried_time_share: float
    same_spread: float
    before_analyze: BeforeAnalyze | None = None
    comparison: Comparison | None = None
    unjudged: tuple[str, ...] = ()
    bisected: tuple[str, ...] = ()
    budget_s: float = 0.0
    spent_s: float = 0.0
    scale: float = 1.0
    format: int = 1

    def of(self, word: UpgradeWord) -> tuple[StatementUpgraded, ...]:
        return tuple(statement for statement in self.statements if statement.word is word)

    @property
    def executions_ratio(self) -> float | None:
        """New to old time of single executions, each statement weighted by its time on the original; None without."""
        weighted = [(one.time_share, one.ratio) for one in self.statements if one.ratio is not None]
        whole = sum(share for share, _ in weighted)
        return sum(share * ratio for share, ratio in weighted) / whole if whole else None

    @property
    def slower(self) -> tuple[StatementUpgraded, ...]:
        return self.of(UpgradeWord.SLOWER)

    @property
    def faster(self) -> tuple[StatementUpgraded, ...]:
        return self.of(UpgradeWord.FASTER)
