"""Where plans of the log got many more or many fewer rows of a table than expected, and by which columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.planned_scans import compared_columns
from pgclinic.checkup.workload import Work, workload
from pgclinic.model.query_plan import PlanNode, PlanSource

#: From here on an estimate leads to another join or another index; below it plans seldom change.
OFF_MIN = 10.0
#: Ten times three rows changes no plan.
ROWS_MIN = 100.0
_STOPS = ("Limit", "Semi Join", "Anti Join", "Merge", "Result")


@dataclass(frozen=True)
class WrongEstimate:
    """``columns`` are those of the table that the condition of this node compares, in the order of the condition."""

    work: Work
    table: Table
    node: PlanNode
    columns: tuple[str, ...]

    @property
    def rows(self) -> float:
        """The rows that came, of each loop."""
        return self.node.rows or 0.0

    @property
    def is_too_few(self) -> bool:
        """Whether more rows came than were expected."""
        return self.rows > self.node.rows_planned

    @property
    def missed(self) -> float:
        """How many more rows came than were expected, or fewer."""
        return abs(self.rows - self.node.rows_planned)

    @property
    def factor(self) -> float:
        """How many times too few or too many were expected; 1 is right."""
        expected, came = max(self.node.rows_planned, 1.0), max(self.rows, 1.0)
        return max(expected / came, came / expected)


def wrong_estimates(case: Case) -> Iterator[WrongEstimate]:
    """Of the statements with the most time, whose rows auto_explain has counted: the worst one of each table."""
    for work in workload(case):
        plan = case.plans.get(work.query_id)
        if plan is not None and plan.source is PlanSource.TWIN:
            # What columns have to do with each other is not known of the original, and the twin's rows may have less.
            continue
        worst: dict[int, WrongEstimate] = {}
        for at, node in enumerate(plan.nodes if plan is not None else ()):
            found = _of_node(case, work, node)
            if found is not None and plan is not None and (found.is_too_few or not _ends_early(plan.nodes, at)):
                known = worst.setdefault(found.table.state.oid, found)
                if found.factor > known.factor:
                    worst[found.table.state.oid] = found
        yield from worst.values()


def _ends_early(nodes: Sequence[PlanNode], at: int) -> bool:
    """Whether a node above this one may have stopped to ask for rows before all had come."""
    depth = nodes[at].depth
    for node in reversed(nodes[:at]):
        if node.depth < depth:
            depth = node.depth
            if any(word in node.kind for word in _STOPS):
                return True
    return False


def _of_node(case: Case, work: Work, node: PlanNode) -> WrongEstimate | None:
    """Only of nodes that read a table; above them errors multiply, and have these causes."""
    tables = case.tables_named.get(node.relation or "", ())
    condition = " AND ".join(part for part in (node.lookup, node.condition) if part is not None)
    if node.rows is None or not node.loops or len(tables) != 1 or not condition:
        return None
    if max(node.rows, node.rows_planned) < ROWS_MIN:
        return None
    columns = compared_columns(condition, node)
    found = WrongEstimate(work=work, table=tables[0], node=node, columns=columns)
    return found if columns and found.factor >= OFF_MIN else None
