"""What plans on a twin say of a treatment: every statement of the workload before and after it, in one transaction."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.query_plan import PlanNode
from pgclinic.model.record import Record

#: From this ratio of buffers, to either side, a statement takes another time that a few executions show.
_OTHER_BUFFERS = 1.5


class PlanWord(str, Enum):
    """``cured``: the workload visits clearly fewer buffers, each statement weighted by its time on the original.
    ``worse``: clearly more. ``no_change``: no statement has another plan or visits more or fewer buffers. ``no_gain``:
    some have, and the workload as a whole visits about as many."""

    CURED = "cured by plans"
    WORSE = "worse by plans"
    NO_CHANGE = "no change of plans"
    NO_GAIN = "no gain by plans"


class StatementByPlan(Record):
    """One statement without and with the treatment. Buffers of 8 kB (shared, and those of temporary files), rows,
    bytes of WAL and the executor's time in ms are per call; None where the statement was planned and not run, as it
    takes too long.

    ``time_share`` is its share of the original's statement time, 0 to 1. ``nodes_gone`` and ``nodes_new`` are the plan
    nodes in which the two plans differ. ``nodes`` and ``nodes_after`` are both plans with what the last values
    visited; empty where they do not differ, have more than 60 nodes, or are of an earlier version.
    """

    query_id: int
    text: str
    time_share: float
    plan: str
    plan_after: str
    buffers: float | None = None
    buffers_after: float | None = None
    rows: float | None = None
    rows_after: float | None = None
    wal_bytes: float | None = None
    wal_bytes_after: float | None = None
    time_ms: float | None = None
    time_ms_after: float | None = None
    nodes_gone: tuple[str, ...] = ()
    nodes_new: tuple[str, ...] = ()
    nodes: tuple[PlanNode, ...] = ()
    nodes_after: tuple[PlanNode, ...] = ()

    @property
    def has_other_plan(self) -> bool:
        return self.plan != self.plan_after

    @property
    def time_ratio(self) -> float | None:
        """Treated to as it is; None where plan and buffers are about the same, as the time of a few executions differs
        from one to the next by more than such a treatment changes."""
        if not (self.buffers and self.buffers_after and self.time_ms and self.time_ms_after):
            return None
        buffers = self.buffers_after / self.buffers
        if not self.has_other_plan and 1 / _OTHER_BUFFERS < buffers < _OTHER_BUFFERS:
            return None
        return self.time_ms_after / self.time_ms

    @property
    def most_ratio(self) -> float | None:
        """The largest of the ratios of buffers, WAL and time, treated to as it is; None where it was only planned."""
        if self.buffers is None or self.buffers_after is None:
            return None
        ratios = [max(self.buffers_after, 1.0) / max(self.buffers, 1.0), self.time_ratio or 0.0]
        if self.wal_bytes and self.wal_bytes_after is not None:
            ratios.append(self.wal_bytes_after / self.wal_bytes)
        return max(ratios)


class PlanProof(Record):
    """``statements`` are those that the treatment changes, those that gain most of the original's time first.

    ``tried`` is how many were tried, with ``tried_time_share`` of the original's statement time; each with up to
    ``draws`` sets of values. ``ratio`` is that of the buffers of the workload, treated to as it is, each statement
    weighted by its time on the original. ``unchanged`` are the query ids of those that it leaves as they are.
    """

    word: PlanWord
    ratio: float
    statements: tuple[StatementByPlan, ...]
    tried: int
    tried_time_share: float
    draws: int
    unchanged: tuple[int, ...] = ()
