"""Functions in SQL as statements: which of them a statement calls, and the statements of a body with places for values.

A body may have secrets among its constants, and names its arguments as it names columns. Both become ``$n``, as
pg_stat_statements has them: arguments by their number, constants behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parser import UnprintableError, UnreadableError, printed, statements_of

#: Others, such as ALTER ROLE, have no plan, and may have secrets that are no constants.
_PLANNED = (nodes.SelectStmt, nodes.InsertStmt, nodes.UpdateStmt, nodes.DeleteStmt, nodes.MergeStmt)


@lru_cache(maxsize=4096)
def functions_called(text: str) -> frozenset[tuple[str, int]]:
    """Names without their schema, each with the number of its arguments; none where the text cannot be read."""
    try:
        statements = statements_of(text)
    except UnreadableError:
        return frozenset()
    return frozenset(
        (str(one.funcname[-1].sval), len(one.args))
        for statement in statements
        for one in nodes_within(statement)
        if isinstance(one, nodes.FuncCall) and one.funcname
    )


def statements_of_body(body: str, function: str, arguments: int, names: Sequence[str]) -> tuple[str, ...]:
    """One text for each statement that has a plan; none where the body cannot be read, or was cut.

    ``arguments`` is how many there are, ``names`` are theirs as far as they have any.
    """
    try:
        planned = [one for one in statements_of(_without_begin(body)) if isinstance(one, _PLANNED)]
        return tuple(_printed(one, function, arguments, names) for one in planned)
    except (UnreadableError, UnprintableError, RecursionError):
        return ()


def _without_begin(body: str) -> str:
    """The statements of BEGIN ATOMIC, which PostgreSQL prints with it; or of RETURN, which is a SELECT of one value."""
    text = body.strip()
    head = text[:5].upper()
    if head == "BEGIN" and text[5:].lstrip()[:6].upper() == "ATOMIC" and text[-3:].upper() == "END":
        return text[5:].lstrip()[6:-3]
    return f"SELECT {text[6:]}" if text[:6].upper() == "RETURN" else text


def _printed(node: Any, function: str, arguments: int, names: Sequence[str]) -> str:
    numbers = {name: number for number, name in enumerate(names, start=1) if name}
    replaced = _Replaced(function, numbers, arguments)
    replaced.within(node)
    return printed(node)


class _Replaced:
    """Puts parameters where a tree has arguments and constants."""

    def __init__(self, function: str, numbers: dict[str, int], last: int) -> None:
        self._function, self._numbers, self._last = function, numbers, last

    def within(self, node: Any) -> None:
        for name in node:
            value = getattr(node, name)
            if isinstance(value, tuple):
                setattr(node, name, tuple(self._instead(one) for one in value))
            elif isinstance(value, nodes.Node):
                setattr(node, name, self._instead(value))

    def _instead(self, node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(self._instead(part) for part in node)
        if isinstance(node, nodes.ParamRef):
            self._last = max(self._last, node.number)
            return node
        if isinstance(node, nodes.A_Const):
            self._last += 1
            return nodes.ParamRef(number=self._last)
        if isinstance(node, nodes.ColumnRef):
            number = self._argument(node)
            return node if number is None else nodes.ParamRef(number=number)
        if isinstance(node, nodes.Node):
            self.within(node)
        return node

    def _argument(self, column: Any) -> int | None:
        names = [str(field.sval) for field in column.fields if isinstance(field, nodes.String)]
        if len(names) == 1:
            return self._numbers.get(names[0])
        return self._numbers.get(names[1]) if len(names) == 2 and names[0] == self._function else None
