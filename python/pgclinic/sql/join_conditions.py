"""What a FROM clause joins, and which side the condition of each join restricts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.parse_tree import conjuncts

#: The names by which a condition can speak of its sides; None for all that there are.
Restricted = frozenset[str] | None
_TRUE_FOR_NULLS = ("AEXPR_DISTINCT", "AEXPR_NOT_DISTINCT")


def sources_of(item: Any) -> Iterator[Any]:
    """Everything that one item of FROM joins."""
    if isinstance(item, nodes.JoinExpr):
        yield from sources_of(item.larg)
        yield from sources_of(item.rarg)
    else:
        yield item


def join_conditions(item: Any, compared: frozenset[str]) -> Iterator[tuple[Any, Restricted]]:
    """Each condition of ON and USING with the names whose rows it restricts.

    An outer join keeps the rows of a side that its condition does not fit. It is an inner one where a later condition
    compares a column of the other side, as no comparison is true for the nulls of a row that has no partner;
    ``compared`` are the names of which those later conditions speak.
    """
    if not isinstance(item, nodes.JoinExpr):
        return
    left, right = _names(item.larg), _names(item.rarg)
    conditions = list(_own(item))
    own = compared_names(conditions, left | right)
    keeps_left = item.jointype in ("JOIN_LEFT", "JOIN_FULL") and not compared & right
    keeps_right = item.jointype in ("JOIN_RIGHT", "JOIN_FULL") and not compared & left
    yield from join_conditions(item.larg, compared if keeps_left else compared | own)
    yield from join_conditions(item.rarg, compared if keeps_right else compared | own)
    restricted = (frozenset() if keeps_left else left) | (frozenset() if keeps_right else right)
    for condition in conditions:
        yield condition, None if restricted == left | right else restricted


def compared_names(conditions: Iterable[Any], names: frozenset[str]) -> frozenset[str]:
    """Which of the names have a column that one of the conditions compares."""
    found = (
        str(column.fields[-2].sval)
        for condition in conditions
        for part in conjuncts(condition)
        if isinstance(part, nodes.A_Expr) and part.kind not in _TRUE_FOR_NULLS
        for column in (part.lexpr, part.rexpr)
        if isinstance(column, nodes.ColumnRef) and len(column.fields) > 1
    )
    return frozenset(found) & names


def _own(item: Any) -> Iterator[Any]:
    """A column of USING is of both sides, and stands for a comparison of two columns."""
    if item.quals is not None:
        yield item.quals
    for name in item.usingClause:
        sides = [_last_named(item.larg), _last_named(item.rarg)]
        if all(side is not None for side in sides):
            left, right = (nodes.ColumnRef(fields=(nodes.String(sval=side), name)) for side in sides)
            yield nodes.A_Expr(kind="AEXPR_OP", name=(nodes.String(sval="="),), lexpr=left, rexpr=right)


def _names(item: Any) -> frozenset[str]:
    return frozenset(name for source in sources_of(item) if (name := _name(source)) is not None)


def _last_named(item: Any) -> str | None:
    last = list(sources_of(item))[-1]
    return _name(last) if isinstance(last, nodes.RangeVar) else None


def _name(one: Any) -> str | None:
    alias = getattr(one, "alias", None)
    if alias is not None:
        return str(alias.aliasname)
    return str(one.relname) if isinstance(one, nodes.RangeVar) else None
