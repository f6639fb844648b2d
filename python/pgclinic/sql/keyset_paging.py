"""A statement with OFFSET as one that goes on behind the last row that was shown (keyset paging)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parser import UnprintableError, only_statement, printed
from pgclinic.sql.quoting import identifier


@dataclass(frozen=True)
class SortKey:
    """A column of ORDER BY as it is written, and by its name alone."""

    column: str
    written: str
    descending: bool


@dataclass(frozen=True)
class KeysetPage:
    """``statement`` returns the rows behind one whose sort keys are its parameters ``first_parameter`` and on.

    ``ordered`` is the original with an order that no two rows share, for which it is written; ``all_keys`` gives the
    sort keys as text of the rows of all its pages, in that order.
    """

    statement: str
    keys: tuple[SortKey, ...]
    first_parameter: int
    ordered: str
    all_keys: str


def keyset_page(text: str, unique: Sequence[str] = ()) -> KeysetPage | None:
    """The same rows in the same order without OFFSET, for columns without null values. None where that cannot be said.

    ``unique`` are columns that no two rows share, such as those of the primary key: those that the order lacks come
    last, as rows that are equal in all keys would be left out or shown twice.
    """
    node = _paged(text)
    if node is None:
        return None
    present = {_key(one).column for one in node.sortClause}
    missing = [one for one in unique if one not in present]
    if missing and (len(node.fromClause) != 1 or not isinstance(node.fromClause[0], nodes.RangeVar)):
        return None
    prefix = _prefix(node.sortClause[0].node) if missing else ()
    node.sortClause = (*node.sortClause, *(_sorted_by(prefix, one, node.sortClause[-1].sortby_dir) for one in missing))
    keys = tuple(_key(sort) for sort in node.sortClause)
    try:
        return _page(node, keys)
    except (UnprintableError, RecursionError):
        return None


def _page(node: Any, keys: tuple[SortKey, ...]) -> KeysetPage:
    page = deepcopy(node)
    page.limitOffset = None
    first = max((int(one.number) for one in nodes_within(page) if isinstance(one, nodes.ParamRef)), default=0) + 1
    _go_behind(page, keys, first)
    statement, ordered, all_keys = (printed(one) for one in (page, node, _all_keys(node)))
    return KeysetPage(statement, keys, first, ordered, all_keys)


def _all_keys(node: Any) -> Any:
    whole = deepcopy(node)
    text = nodes.TypeName(names=(nodes.String(sval="text"),), typemod=-1)
    # Under names of their own, as ORDER BY would mean these texts else.
    whole.targetList = tuple(
        nodes.ResTarget(name=f"pgclinic_key_{number}", val=nodes.TypeCast(arg=one.node, typeName=text))
        for number, one in enumerate(node.sortClause)
    )
    whole.limitCount = whole.limitOffset = whole.lockingClause = None
    return whole


def _go_behind(page: Any, keys: Sequence[SortKey], first: int) -> None:
    columns = [one.node for one in page.sortClause]
    values = [nodes.ParamRef(number=first + index) for index in range(len(keys))]
    behind = _behind(columns, values, [key.descending for key in keys])
    page.whereClause = behind if page.whereClause is None else _all((page.whereClause, behind))


def _paged(text: str) -> Any:
    """A SELECT of plain rows whose order is one of columns; None for any other statement."""
    node = only_statement(text)
    return node if isinstance(node, nodes.SelectStmt) and _is_plain(node) and _is_sorted_by_columns(node) else None


def _is_plain(node: Any) -> bool:
    if node.limitOffset is None or not node.sortClause or not node.fromClause:
        return False
    others = (node.groupClause, node.distinctClause, node.havingClause, node.windowClause, node.larg, node.valuesLists)
    if any(others):
        return False
    # An aggregate or a window of the target list is one of all rows, also of those before the page.
    return not any(isinstance(one, nodes.FuncCall) for target in node.targetList for one in nodes_within(target))


def _is_sorted_by_columns(node: Any) -> bool:
    computed = set(_computed_names(node.targetList))
    for one in node.sortClause:
        if one.useOp or not isinstance(one.node, nodes.ColumnRef):
            return False
        fields: tuple[Any, ...] = one.node.fields
        # A bare name in ORDER BY is an output column first, and one in WHERE never is.
        if not all(isinstance(field, nodes.String) for field in fields) or (
            len(fields) == 1 and str(fields[0].sval) in computed
        ):
            return False
    return True


def _computed_names(targets: Iterable[Any]) -> Iterable[str]:
    for target in targets:
        if target.name is not None and not (
            isinstance(target.val, nodes.ColumnRef)
            and getattr((target.val.fields or (None,))[-1], "sval", None) == target.name
        ):
            yield str(target.name)


def _key(one: Any) -> SortKey:
    names = [str(field.sval) for field in one.node.fields]
    return SortKey(
        column=names[-1],
        written=".".join(identifier(name) for name in names),
        descending=one.sortby_dir == "SORTBY_DESC",
    )


def _prefix(node: Any) -> tuple[Any, ...]:
    return tuple(node.fields[:-1])


def _sorted_by(prefix: tuple[Any, ...], column: str, direction: Any) -> Any:
    node = nodes.ColumnRef(fields=(*prefix, nodes.String(sval=column)))
    return nodes.SortBy(node=node, sortby_dir=direction, sortby_nulls="SORTBY_NULLS_DEFAULT")


def _behind(columns: Sequence[Any], values: Sequence[Any], descending: Sequence[bool]) -> Any:
    """Behind the row with these values: one comparison of rows where all columns go one way, else column by column."""
    if len(set(descending)) == 1:
        operator = "<" if descending[0] else ">"
        if len(columns) == 1:
            return _compared(operator, columns[0], values[0])
        left, right = (nodes.RowExpr(args=tuple(side), row_format="COERCE_IMPLICIT_CAST") for side in (columns, values))
        return _compared(operator, left, right)
    first = _compared("<" if descending[0] else ">", columns[0], values[0])
    rest = _behind(columns[1:], values[1:], descending[1:])
    equal = _compared("=", columns[0], values[0])
    return nodes.BoolExpr(boolop="OR_EXPR", args=(first, _all((equal, rest))))


def _compared(operator: str, left: Any, right: Any) -> Any:
    return nodes.A_Expr(kind="AEXPR_OP", name=(nodes.String(sval=operator),), lexpr=left, rexpr=right)


def _all(conditions: tuple[Any, ...]) -> Any:
    return nodes.BoolExpr(boolop="AND_EXPR", args=conditions)
