"""Constants that an expression of an index or of extended statistics has where a statement has a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.parse_tree import conjuncts, operator_of
from pgclinic.sql.parser import UnreadableError, parsed_expression

#: Where a node stands in its text, and which syntax was used for it.
_NO_MEANING = frozenset(("location", "rexpr_list_start", "rexpr_list_end", "funcformat"))


def constants_of(expression: str, pattern: str) -> dict[int, str] | None:
    """Values for all the ``$n`` of ``expression`` with which it is ``pattern``; None where it is another expression.

    Casts of constants and the names of tables before columns do not count: PostgreSQL prints the expressions of its
    indexes with the first and without the second.
    """
    wanted, known = _tree(expression), _tree(pattern)
    if wanted is None or known is None:
        return None
    found: dict[int, str] = {}
    try:
        return found if _is_same(wanted, known, found) else None
    except RecursionError:
        return None


def constants_by_predicate(expression: str, predicate: str) -> tuple[str, ...]:
    """The values of an expression without places in the rows of a partial index: one, or those of a list."""
    wanted, known = _tree(expression), _tree(predicate)
    if wanted is None or known is None:
        return ()
    for part in conjuncts(known):
        if isinstance(part, nodes.A_Expr) and operator_of(part) == "=" and _is_same(wanted, part.lexpr, {}):
            values = part.rexpr
            if isinstance(values, nodes.TypeCast) and isinstance(values.arg, nodes.A_ArrayExpr):
                values = values.arg
            elements = values.elements if isinstance(values, nodes.A_ArrayExpr) else (values,)
            return tuple(value for element in elements if (value := _constant(element)) is not None)
    return ()


@lru_cache(maxsize=4096)
def _tree(text: str) -> Any | None:
    try:
        return parsed_expression(text)
    except UnreadableError:
        return None


def _is_same(wanted: Any, known: Any, found: dict[int, str]) -> bool:
    number, constants = _number(wanted), (_constant(wanted), _constant(known))
    if number is not None:
        is_same = constants[1] is not None and found.setdefault(number, constants[1]) == constants[1]
    elif constants != (None, None):
        is_same = constants[0] == constants[1]
    elif isinstance(wanted, nodes.ColumnRef) and isinstance(known, nodes.ColumnRef):
        is_same = _name(wanted) == _name(known)
    elif isinstance(wanted, nodes.TypeCast) != isinstance(known, nodes.TypeCast):
        # The server casts varchar and domains to what a function or an operator takes.
        is_same = _is_same(_uncast(wanted), _uncast(known), found)
    elif isinstance(wanted, tuple) and isinstance(known, tuple):
        pairs = zip(wanted, known, strict=False)
        is_same = len(wanted) == len(known) and all(_is_same(one, other, found) for one, other in pairs)
    else:
        is_same = _has_same_parts(wanted, known, found)
    return is_same


def _has_same_parts(wanted: Any, known: Any, found: dict[int, str]) -> bool:
    if not isinstance(wanted, nodes.Node):
        return bool(wanted == known)
    if type(wanted) is not type(known):
        return False
    names = [name for name in dict.fromkeys((*wanted, *known)) if name not in _NO_MEANING]
    return all(_is_same(getattr(wanted, name), getattr(known, name), found) for name in names)


def _number(node: Any) -> int | None:
    """Of a place, with or without its cast."""
    inner = node.arg if isinstance(node, nodes.TypeCast) else node
    return int(inner.number) if isinstance(inner, nodes.ParamRef) else None


def _constant(node: Any) -> str | None:
    """The value of a constant as text, with or without casts."""
    while isinstance(node, nodes.TypeCast):
        node = node.arg
    if not isinstance(node, nodes.A_Const) or node.isnull:
        return None
    if node.sval is not None:
        return str(node.sval.sval)
    if node.ival is not None:
        return str(node.ival.ival)
    if node.fval is not None:
        return str(node.fval.fval)
    return None if node.boolval is None else "true" if node.boolval.boolval else "false"


def _uncast(node: Any) -> Any:
    return node.arg if isinstance(node, nodes.TypeCast) else node


def _name(column: nodes.ColumnRef) -> str:
    last = column.fields[-1]
    return str(last.sval) if isinstance(last, nodes.String) else "*"
