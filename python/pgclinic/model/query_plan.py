"""A query plan as its nodes, from a server's log or from EXPLAIN: what is read, by which condition, how much of it."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class PlanSource(str, Enum):
    """``log``: auto_explain wrote it when the statement ran. ``generic``: EXPLAIN on the server, for any parameters.
    ``twin``: EXPLAIN (ANALYZE) on the twin, with values drawn for it."""

    LOG = "log"
    TWIN = "twin"
    GENERIC = "generic"


class PlanNode(Record):
    """One node. ``depth`` is 0 at the top, and nodes follow each other as EXPLAIN prints them.

    ``rows_planned`` is what the planner expected of each of ``loops``; ``rows`` is what came of each on average,
    ``rows_removed`` what the conditions of this node threw away, both None where nothing was counted.
    ``condition`` are the filter, the join filter or the condition of a join, ``lookup`` that of an index; constants in
    them are question marks. ``disk_bytes`` is what a sort or a hash wrote to temporary files. ``buffers`` are those
    that the node and what is below it visited in all loops, those of temporary files among them; None where nobody
    counted. ``cost`` is the planner's total of the node and what is below it, in its own unit, for one loop;
    ``time_ms`` what one loop of them took on average, None where nobody measured.
    """

    depth: int
    kind: str
    rows_planned: float
    relation: str | None = None
    alias: str | None = None
    index: str | None = None
    condition: str | None = None
    lookup: str | None = None
    rows: float | None = None
    loops: float | None = None
    rows_removed: float | None = None
    disk_bytes: int | None = None
    buffers: float | None = None
    cost: float | None = None
    time_ms: float | None = None


class QueryPlan(Record):
    """The plan of one statement: by its query id where that is known, else by its text, without constants.

    ``times`` is how often the log has it, ``duration_ms`` how long the slowest of them took, which is the one shown.
    """

    source: PlanSource
    nodes: tuple[PlanNode, ...]
    query_id: int | None = None
    statement: str | None = None
    times: int = 1
    duration_ms: float | None = None
