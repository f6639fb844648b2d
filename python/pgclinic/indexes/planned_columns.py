"""By which columns a plan looks for the rows of each table that it reads: what views hide no text says. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.query_plan import PlanNode
from pgclinic.sql.quoting import identifier
from pgclinic.sql.statement_shape import ColumnComparison, statement_shape

_EQUAL = frozenset(("=", "in", "any"))
_RANGE = frozenset(("<", "<=", ">", ">="))


@dataclass(frozen=True)
class PlannedColumns:
    """One scan of the table ``relation``, by its bare name: columns that are compared with values, for equality or as
    a range, and those that equal a column of another table."""

    relation: str
    equal: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()


def planned_columns(nodes: Sequence[PlanNode]) -> Iterator[PlannedColumns]:
    """Of all scans that have a condition of their own, or whose rows a join compares."""
    scans = [node for node in nodes if node.relation is not None and node.alias is not None]
    joins = [one for node in nodes if node.relation is None for one in _compared(node.condition, scans)]
    for node in scans:
        own = [*_compared(node.condition, (node,)), *_compared(node.lookup, (node,))]
        plain = [one for one in own if one.wrapped is None and one.other == "value"]
        found = PlannedColumns(
            relation=str(node.relation),
            equal=_names(one for one in plain if one.operator in _EQUAL),
            ranges=_names(one for one in plain if one.operator in _RANGE),
            joined=_names(_joining(node, (*own, *joins))),
        )
        if found.equal or found.ranges or found.joined:
            yield found


def _joining(node: PlanNode, compared: Sequence[ColumnComparison]) -> Iterator[ColumnComparison]:
    for one in compared:
        is_own = any(mention.alias == node.alias for mention in one.mentions)
        if is_own and len(one.mentions) == 1 and one.wrapped is None and one.other == "column" and one.operator == "=":
            yield one


def _names(compared: Iterator[ColumnComparison] | Sequence[ColumnComparison]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.column for one in compared))


def _compared(condition: str | None, scans: Sequence[PlanNode]) -> tuple[ColumnComparison, ...]:
    """A condition of a plan is parsed as that of a statement on the same tables."""
    if condition is None or not scans:
        return ()
    sources = dict.fromkeys(f"{identifier(str(one.relation))} as {identifier(str(one.alias))}" for one in scans)
    shape = statement_shape(f"select 1 from {', '.join(sources)} where {condition.replace('?', '$1')}")
    return shape.top.comparisons if shape is not None else ()
