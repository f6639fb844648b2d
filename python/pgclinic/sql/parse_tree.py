"""What is asked of trees of SQL, and trees of small pieces of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parser import parsed_expression, printed
from pgclinic.sql.scope import Scope


def column_free(node: Any) -> bool:
    """Whether an expression needs no row: neither a column nor a query is in it."""
    return not any(isinstance(one, nodes.ColumnRef | nodes.SubLink | nodes.CurrentOfExpr) for one in nodes_within(node))


def has_parameter(node: Any) -> bool:
    """Whether a ``$n`` is in it."""
    return any(isinstance(one, nodes.ParamRef) for one in nodes_within(node))


def has_query(node: Any) -> bool:
    """Whether a query is in it."""
    return any(isinstance(one, nodes.SubLink) for one in nodes_within(node))


def function_name(node: Any) -> str:
    """Without pg_catalog, which the parser puts before functions that have a syntax of their own."""
    names = [part.sval for part in node.funcname]
    return ".".join(names[1:] if names[0] == "pg_catalog" else names)


def conjuncts(node: Any) -> list[Any]:
    """What AND joins, or the one condition."""
    if isinstance(node, nodes.BoolExpr) and node.boolop == "AND_EXPR":
        return [part for one in node.args for part in conjuncts(one)]
    return [node]


def operator_of(node: Any) -> str:
    """The name of an expression's operator, without its schema."""
    return str(node.name[-1].sval) if node.name else ""


@lru_cache(maxsize=512)
def _parsed_type(text: str) -> Any:
    return parsed_expression(f"NULL::{text}").typeName


def type_name(text: str) -> Any:
    """The tree of a type."""
    return _parsed_type(text)


def first_column(node: Any) -> Any | None:
    """The first column that an expression names, from the left."""
    if isinstance(node, tuple):
        return next((found for one in node if (found := first_column(one)) is not None), None)
    if isinstance(node, nodes.ColumnRef):
        return node
    if not isinstance(node, nodes.Node) or isinstance(node, nodes.SubLink):
        return None
    return first_column(tuple(getattr(node, name) for name in node))


def bound_name(node: Any) -> str:
    """GREATEST or LEAST, in small letters."""
    return "greatest" if node.op == "IS_GREATEST" else "least"


def has_call(node: Any) -> bool:
    """Whether a function is called in it, which may be an aggregate or look at other rows."""
    return any(isinstance(one, nodes.FuncCall) for one in nodes_within(node))


def result_name(target: Any) -> str | None:
    """What PostgreSQL calls a column of a result (FigureColname); None where that is ``?column?``."""
    return str(target.name) if target.name else _figured(target.val)


_NAMED = {nodes.CoalesceExpr: "coalesce", nodes.A_ArrayExpr: "array", nodes.RowExpr: "row"}


def _figured(value: Any) -> str | None:
    match value:
        case nodes.ColumnRef():
            return _last_name(value.fields)
        case nodes.FuncCall():
            return _last_name(value.funcname)
        case nodes.TypeCast():
            type_: Any = value.typeName
            return _figured(value.arg) or _last_name(type_.names)
        case nodes.CaseExpr():
            return _figured(value.defresult) or "case"
        case nodes.MinMaxExpr():
            return bound_name(value)
        case _:
            return _NAMED.get(type(value))


def _last_name(parts: Any) -> str | None:
    return str(parts[-1].sval) if isinstance(parts[-1], nodes.String) else None


def joined_columns(part: Any, scope: Scope, first: int) -> tuple[str, str] | None:
    """The columns of an equality of two columns, that of the mention ``first`` first; None for anything else."""
    if not isinstance(part, nodes.A_Expr) or part.kind != "AEXPR_OP" or operator_of(part) != "=":
        return None
    sides = [scope.find(one) for one in (part.lexpr, part.rexpr) if isinstance(one, nodes.ColumnRef)]
    origins = [side for side in sides if side is not None]
    if len(origins) != 2:
        return None
    one, other = origins if origins[0].source == first else reversed(origins)
    return one.column.name, other.column.name


def qualified_text(node: Any, scope: Scope) -> str:
    """An expression as text in which every column has its alias."""
    copy = parsed_expression(printed(node))
    for one in [copy, *nodes_within(copy)]:
        if isinstance(one, nodes.ColumnRef):
            origin = scope.find(one)
            if origin is not None:
                one.fields = (nodes.String(sval=origin.alias), nodes.String(sval=origin.column.name))
    return printed(copy)
