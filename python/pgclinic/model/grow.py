"""What a database costs when it has grown: ``pgclinic grow``. Sizes are factors of the original's rows, 1 as it is.

Times are those of the executor in ms, pages of 8 kB. An interval is a 95 % CI.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class KeptBecause(str, Enum):
    """Why a table keeps its rows. asked: --fixed. reference: few rows, no foreign key to a table that grows, no insert.

    partitions: it is divided by a number that identifies its rows, and its partitions hold no more of them. key_range:
    its key's type cannot hold the larger numbers. empty: it has no rows.
    """

    ASKED = "asked"
    REFERENCE = "reference"
    PARTITIONS = "partitions"
    KEY_RANGE = "key_range"
    EMPTY = "empty"


class KeptTable(Record):
    """A table that does not grow with the others."""

    table: str
    rows: float
    because: KeptBecause


class GrowthInterval(Record):
    """A value with its 95 % CI."""

    value: float
    low: float
    high: float


class SizeStatus(str, Enum):
    """measured. budget: no time was left. disk: no room. failed: its rows could not be made. interrupted."""

    MEASURED = "measured"
    BUDGET = "budget"
    DISK = "disk"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class TwinSize(Record):
    """One twin. ``estimated_*`` are what was said before it was built; the others are 0 where it was not measured."""

    size: float
    status: SizeStatus
    estimated_rows: int
    estimated_bytes: int
    estimated_s: float
    rows: int = 0
    bytes: int = 0
    build_s: float = 0.0
    measure_s: float = 0.0
    statements: int = 0
    detail: str = ""


class MeasuredExecution(Record):
    """One set of values: pages visited by its first execution, the shortest time of its executions, rows."""

    buffers: float
    time_ms: float
    rows: float


class StatementAtSize(Record):
    """A statement on one twin. ``plan`` is the shape that most values had, ``relations`` what the plans visit."""

    size: float
    plan: str
    executions: tuple[MeasuredExecution, ...]
    relations: tuple[str, ...] = ()

    @property
    def buffers(self) -> float:
        return sum(one.buffers for one in self.executions) / len(self.executions)

    @property
    def time_ms(self) -> float:
        return sum(one.time_ms for one in self.executions) / len(self.executions)

    @property
    def rows(self) -> float:
        return sum(one.rows for one in self.executions) / len(self.executions)


class PlanChange(Record):
    """A plan that the statement has from ``size`` on, where the twin before had ``before_size``."""

    before_size: float
    size: float
    before: str
    after: str


class Law(Record):
    """How a quantity grows: with size to the power of ``exponent``.

    ``at_to`` is what it is at the target in place of 1 at size 1. ``is_extrapolated`` says that the target lies beyond
    the twins that the fit is made of. ``sizes`` are those twins: all of one plan, unless it has one twin alone.
    """

    exponent: GrowthInterval
    at_to: GrowthInterval
    sizes: tuple[float, ...]
    is_extrapolated: bool
    is_bent: bool = False


class Unmeasured(Record):
    """A statement that ran on fewer than two twins; ``time_share`` is its share of the original's time."""

    query_id: int
    text: str
    time_share: float
    reason: str
    detail: str = ""


class GrownStatement(Record):
    """One statement. ``time_share`` is its share of the original's time now, ``share_at_to`` at the target.

    ``server_time`` is the time of all its calls at the target in place of 1 now, with the calls of a business of that
    size.
    """

    query_id: int
    text: str
    calls: int
    total_ms: float
    time_share: float
    share_at_to: float
    measured: tuple[StatementAtSize, ...]
    buffers: Law
    time: Law
    server_time: GrowthInterval
    plan_changes: tuple[PlanChange, ...] = ()


class RelationKind(str, Enum):
    TABLE = "table"
    INDEX = "index"


class RelationGrowth(Record):
    """A table or an index: bytes on the original now, on each twin, and at the target.

    ``is_visited`` says that a plan of the workload reads it.
    """

    name: str
    kind: RelationKind
    table: str
    bytes: float
    bytes_at_to: float
    built: tuple[tuple[float, int], ...]
    is_visited: bool


class WorkingSet(Record):
    """Tables and indexes that the plans of the workload read, whole, in bytes.

    ``leaves_*`` are the sizes at which they outgrow shared_buffers and the memory; None where that is not known, and
    below 1 where they have outgrown them already.
    """

    now_bytes: float
    at_to_bytes: float
    shared_buffers_bytes: float | None = None
    memory_bytes: float | None = None
    leaves_buffers_at: float | None = None
    leaves_memory_at: float | None = None


class VacuumGrowth(Record):
    """What autovacuum has to do for one table, now and at the target.

    ``dead_rows_per_hour`` are made by the updates and deletes of the workload; None where its counters do not say over
    which time. ``threshold_rows`` dead rows start a VACUUM, ``pages`` it reads at least: of the table, and once of each
    index. ``least_s`` is how long that takes by the cost settings when every page is read from disk and every tenth
    changed.
    """

    table: str
    dead_rows_per_hour: float | None
    dead_rows_per_hour_at_to: float | None
    threshold_rows: float
    threshold_rows_at_to: float
    interval_s: float | None
    interval_s_at_to: float | None
    pages: float
    pages_at_to: float
    delay_s: float
    delay_s_at_to: float


class GrowthForecast(Record):
    """The answer. ``to`` is the target size.

    ``server_time`` is the time of the measured statements at the target in place of 1 now, with ``to`` times the calls;
    ``per_call`` the same with the calls of now. ``measured_share`` is the share of the original's time in the measured
    statements.
    """

    database: str
    version: str
    to: float
    sizes: tuple[TwinSize, ...]
    kept: tuple[KeptTable, ...]
    grown_tables: int
    statements: tuple[GrownStatement, ...]
    unmeasured: tuple[Unmeasured, ...]
    server_time: GrowthInterval | None
    per_call: GrowthInterval | None
    measured_share: float
    relations: tuple[RelationGrowth, ...]
    working_set: WorkingSet | None
    vacuums: tuple[VacuumGrowth, ...]
    calibrated_at: float
    observed_s: float | None
    budget_s: float
    spent_s: float
    is_complete: bool
    smaller: tuple[str, ...] = ()
    format: int = 1

    @property
    def vacuum_busy(self) -> tuple[float, float] | None:
        """The share of the time in which autovacuum sleeps or works by its cost limit, now and at the target.

        All workers share one limit, so that above 1 it does not keep up. None where no rate is known.
        """
        known = [one for one in self.vacuums if one.interval_s and one.interval_s_at_to]
        if not known:
            return None
        now = sum(one.delay_s / one.interval_s for one in known if one.interval_s)
        then = sum(one.delay_s_at_to / one.interval_s_at_to for one in known if one.interval_s_at_to)
        return now, then

    @property
    def measured_sizes(self) -> tuple[float, ...]:
        return tuple(one.size for one in self.sizes if one.status is SizeStatus.MEASURED)
