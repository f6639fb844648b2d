"""Plans that read a whole table, or what an index finds in it, and throw most of that away, and by which columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.table_access import FRACTION_MAX, MORE_MAX, PAGES_MIN, fraction_equal, pages_of, worth_a_place
from pgclinic.checkup.workload import Work, workload
from pgclinic.model.finding import Fact, Unit
from pgclinic.model.query_plan import PlanNode, PlanSource, QueryPlan
from pgclinic.sql.quoting import identifier
from pgclinic.sql.statement_shape import ColumnComparison, statement_shape

_SCANS = ("Seq Scan", "Parallel Seq Scan")
_INDEX_SCANS = frozenset(
    f"{how}{kind}" for how in ("", "Parallel ") for kind in ("Index Scan", "Index Only Scan", "Bitmap Heap Scan")
)
#: Fewer rows that an index finds and the filter throws away are on a few pages.
_REMOVED_MIN = 500.0
#: Between a scan and the join that it is an input of: they pass on what they get.
_PASSING = ("Hash", "Parallel Hash", "Sort", "Incremental Sort", "Materialize", "Gather", "Gather Merge", "Memoize")
_EQUAL = frozenset({"=", "in", "any"})
#: Where the rows of a plan were counted; a plan without counts has none but those that the planner expects.
SEEN = {
    PlanSource.LOG: "in the log",
    PlanSource.TWIN: "on the twin",
    PlanSource.GENERIC: "by the planner's estimate",
}


@dataclass(frozen=True)
class WastefulScan:
    """``columns`` would find the rows that are kept, those that find the fewest first; ``kept`` is their part of all.

    ``plan`` is the whole. With ``narrow`` the node is a scan by an index that has too few of the columns; ``exact``:
    its condition has no other columns than those, so that they alone find the rows that are kept.
    """

    work: Work
    table: Table
    node: PlanNode
    columns: tuple[str, ...]
    kept: float
    plan: QueryPlan
    narrow: bool = False
    joined: JoinedScan | None = None
    exact: bool = False

    @property
    def source(self) -> PlanSource:
        return self.plan.source

    @property
    def counted(self) -> bool:
        """Whether the rows were counted when the statement ran on the server, and not what the planner expects."""
        return self.source is PlanSource.LOG and self.node.rows is not None

    def facts(self) -> tuple[Fact, ...]:
        words = f"{self.node.kind} on {self.table.name}"
        if self.narrow and self.node.lookup is not None:
            words += f", index condition {self.node.lookup}"
        if self.node.condition is not None:
            words += f", filter {self.node.condition}"
        seen = SEEN[self.source] if self.node.rows is not None else SEEN[PlanSource.GENERIC]
        of = "rows found by the index" if self.narrow else "table's rows"
        return (
            Fact(name="plan", value=words),
            Fact(name=f"part of the {of} that is wanted, {seen}", value=self.kept, unit=Unit.SHARE),
        )


@dataclass(frozen=True)
class JoinedScan:
    """A scan of a whole table that goes into a join by equality of its ``columns`` with those of others.

    Rows of one execution: ``read`` by the scan, ``other`` the other input of the join, ``came`` out of it.
    """

    columns: tuple[str, ...]
    read: float
    other: float
    came: float


def scans_of(plan: QueryPlan, table: Table) -> Iterator[int]:
    """Where this plan reads the whole table."""
    for at, node in enumerate(plan.nodes):
        if node.kind in _SCANS and node.relation == table.state.name and node.loops != 0:
            yield at


def wasteful_scans(case: Case) -> Iterator[WastefulScan]:
    """Of the statements with the most time, as far as their plans are known."""
    for work in workload(case):
        plan = case.plans.get(work.query_id)
        if plan is None:
            continue
        for table in tables_scanned(case, plan):
            yield from _of_table(case, work, plan, table)


def tables_scanned(case: Case, plan: QueryPlan) -> Iterator[Table]:
    """Each table that the plan reads whole, but for those with few pages."""
    for name in dict.fromkeys(node.relation for node in plan.nodes if node.kind in _SCANS and node.relation):
        # A plan in text names no schema, so a name must mean one table.
        tables = case.tables_named.get(name, ())
        if len(tables) == 1 and pages_of(case, tables[0]) >= PAGES_MIN:
            yield tables[0]


def equal_columns(node: PlanNode) -> tuple[str, ...]:
    """The columns of the table that this node reads, each compared with values for equality."""
    return _equal(node.condition, node) if node.condition is not None else ()


def narrow_scans(case: Case) -> Iterator[WastefulScan]:
    """Scans by an index whose filter throws away most of the rows that it finds, where plans have counted them."""
    for work in workload(case):
        plan = case.plans.get(work.query_id)
        for node in plan.nodes if plan is not None else ():
            tables = case.tables_named.get(node.relation or "", ())
            if node.kind in _INDEX_SCANS and len(tables) == 1 and plan is not None:
                found = _narrow(case, work, plan, tables[0], node)
                if found is not None:
                    yield found


def _narrow(case: Case, work: Work, plan: QueryPlan, table: Table, node: PlanNode) -> WastefulScan | None:
    if node.rows is None or not node.rows_removed or not node.loops or node.condition is None or node.lookup is None:
        return None
    kept = node.rows / (node.rows + node.rows_removed)
    if node.rows_removed * node.loops < _REMOVED_MIN or kept > FRACTION_MAX:
        return None
    found = _equal(node.lookup, node)
    filtered = [one for one in _equal(node.condition, node) if one not in found]
    more = worth_a_place(case, table, filtered, node.rows + node.rows_removed, MORE_MAX)
    columns = (*found, *more)
    exact = _has_only(f"{node.lookup} AND {node.condition}", node, columns)
    return WastefulScan(work, table, node, columns, kept, plan, narrow=True, exact=exact) if more else None


def _of_table(case: Case, work: Work, plan: QueryPlan, table: Table) -> Iterator[WastefulScan]:
    for at in scans_of(plan, table):
        node = plan.nodes[at]
        kept, columns = _by_filter(case, table, node)
        joined = joined_scan(plan.nodes, at) if not columns else None
        if joined is not None:
            kept, columns = _by_join(case, table, joined)
        if columns and kept <= FRACTION_MAX:
            exact = joined is None and _has_only(node.condition or "", node, columns)
            yield WastefulScan(work, table, node, columns, kept, plan, joined=joined, exact=exact)


def _by_filter(case: Case, table: Table, node: PlanNode) -> tuple[float, tuple[str, ...]]:
    """Which part of the rows is kept, and the columns that are compared for equality with values."""
    if node.condition is None:
        return 1.0, ()
    return _kept(table, node), _most_selective(case, table, _equal(node.condition, node))


def _equal(condition: str, node: PlanNode) -> tuple[str, ...]:
    """The columns that are compared for equality with values."""
    compared = [comparison for comparison in _comparisons(condition, (node,)) if comparison.other == "value"]
    return tuple(dict.fromkeys(one.column for one in compared if one.wrapped is None and one.operator in _EQUAL))


def _has_only(condition: str, node: PlanNode, columns: Sequence[str]) -> bool:
    """Whether all that it asks is a value for each of these columns."""
    return condition.count(" AND ") < len(columns) and set(_equal(condition, node)) == set(columns)


def _kept(table: Table, node: PlanNode) -> float:
    if node.rows is not None and node.rows_removed is not None and node.rows + node.rows_removed > 0:
        return node.rows / (node.rows + node.rows_removed)
    return node.rows_planned / max(table.live, 1.0)


def compared_columns(condition: str, node: PlanNode) -> tuple[str, ...]:
    """The columns of the table that this node reads, each compared with values by whatever operator."""
    compared = _comparisons(condition, (node,))
    return tuple(
        dict.fromkeys(
            comparison.column
            for comparison in compared
            if comparison.wrapped in (None, "cast") and comparison.other == "value"
        )
    )


def _by_join(case: Case, table: Table, joined: JoinedScan) -> tuple[float, tuple[str, ...]]:
    """The same where all rows go into a join, and few come out of it."""
    selective = tuple(column for column in joined.columns if _finds_few(case, table, column))
    return joined.came / max(joined.read, 1.0), selective[:1]


def joined_scan(nodes: Sequence[PlanNode], at: int) -> JoinedScan | None:
    """The join that takes what the scan at this place reads; None where none does, or under no condition."""
    above = _join_above(nodes, at)
    if above is None or nodes[above].condition is None:
        return None
    others = [node for node in nodes if node.alias is not None]
    compared = [
        comparison
        for comparison in _comparisons(nodes[above].condition or "", others)
        if comparison.other == "column" and any(mention.alias == nodes[at].alias for mention in comparison.mentions)
    ]
    return JoinedScan(
        columns=tuple(dict.fromkeys(one.column for one in compared if one.wrapped is None and one.operator == "=")),
        read=rows_in_all(nodes[at]),
        other=max(
            (rows_in_all(nodes[one]) for one in _inputs(nodes, above) if not _is_below(nodes, one, at)), default=0
        ),
        came=rows_in_all(nodes[above]),
    )


def rows_in_all(node: PlanNode) -> float:
    """What comes of a node in all loops, as far as they were counted."""
    return (node.rows or 0.0) * (node.loops or 1.0) if node.rows is not None else node.rows_planned


def _inputs(nodes: Sequence[PlanNode], above: int) -> Iterator[int]:
    """The nodes right below the one at this place."""
    for at in range(above + 1, len(nodes)):
        if nodes[at].depth <= nodes[above].depth:
            return
        if nodes[at].depth == nodes[above].depth + 1:
            yield at


def _is_below(nodes: Sequence[PlanNode], top: int, at: int) -> bool:
    """Whether the node ``at`` is this one or stands below it."""
    return top <= at and all(node.depth > nodes[top].depth for node in nodes[top + 1 : at + 1])


def _join_above(nodes: Sequence[PlanNode], at: int) -> int | None:
    """Where the join is that the node at this place is an input of."""
    depth = nodes[at].depth
    for place in range(at - 1, -1, -1):
        node = nodes[place]
        if node.depth >= depth:
            continue
        if node.kind.endswith("Join") or node.kind == "Nested Loop":
            return place
        if node.kind not in _PASSING:
            return None
        depth = node.depth
    return None


def _finds_few(case: Case, table: Table, column: str) -> bool:
    fraction = fraction_equal(case, table, column)
    return fraction is not None and fraction <= FRACTION_MAX


def _comparisons(condition: str, nodes: Sequence[PlanNode]) -> tuple[ColumnComparison, ...]:
    """A condition of a plan is parsed as that of a statement on the same tables."""
    sources = dict.fromkeys(
        f"{identifier(node.relation)} as {identifier(node.alias)}" for node in nodes if node.relation and node.alias
    )
    shape = statement_shape(f"select 1 from {', '.join(sources)} where {condition.replace('?', '$1')}")
    return shape.top.comparisons if shape is not None else ()


def _most_selective(case: Case, table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns in the order of how few rows one value of each finds; those of which nothing is known come last."""
    fractions = {column: fraction_equal(case, table, column) for column in columns}
    return tuple(sorted(columns, key=lambda column: 1.0 if fractions[column] is None else fractions[column] or 0.0))
