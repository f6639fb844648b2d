"""Expressions with places for values in them: what a value is compared with, added to or given to says what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pgclinic.errors import UsageError
from pgclinic.sql import nodes
from pgclinic.sql.known_functions import KnownFunction, body_with
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import (
    bound_name,
    column_free,
    first_column,
    function_name,
    has_parameter,
    has_query,
    qualified_text,
)
from pgclinic.sql.parser import printed
from pgclinic.sql.place_types import UNITS, has_parts, spoken_of, type_as_written, type_beside
from pgclinic.sql.places import Places, number_of
from pgclinic.sql.quoting import quoted
from pgclinic.sql.scope import KnownSchema, Origin, Scope
from pgclinic.sql.statement_places import PlaceUse

_COMPARED = {
    "=": PlaceUse.EQUAL,
    "<>": PlaceUse.UNEQUAL,
    "!=": PlaceUse.UNEQUAL,
    ">": PlaceUse.LOW,
    ">=": PlaceUse.LOW,
    "<": PlaceUse.HIGH,
    "<=": PlaceUse.HIGH,
    "~~": PlaceUse.PATTERN,
    "~~*": PlaceUse.PATTERN,
    "@>": PlaceUse.CONTAINS,
    "<@": PlaceUse.WITHIN,
    "&&": PlaceUse.OVERLAPS,
    "@@": PlaceUse.SEARCH,
    "?": PlaceUse.KEY,
    "->": PlaceUse.KEY,
    "->>": PlaceUse.KEY,
    "#>": PlaceUse.PATH,
    "#>>": PlaceUse.PATH,
    "#-": PlaceUse.PATH,
    "?|": PlaceUse.PATH,
    "?&": PlaceUse.PATH,
}
_MIRRORED = {
    PlaceUse.LOW: PlaceUse.HIGH,
    PlaceUse.HIGH: PlaceUse.LOW,
    PlaceUse.CONTAINS: PlaceUse.WITHIN,
    PlaceUse.WITHIN: PlaceUse.CONTAINS,
}
_ONE_SIDED = frozenset((PlaceUse.KEY, PlaceUse.PATH, PlaceUse.PATTERN))
_SUMS = frozenset(("+", "-", "*", "/", "%", "||"))
_BETWEEN = frozenset(
    (
        "AEXPR_BETWEEN",
        "AEXPR_NOT_BETWEEN",
        "AEXPR_BETWEEN_SYM",
        "AEXPR_NOT_BETWEEN_SYM",
    )
)
_LIKE = frozenset(("AEXPR_LIKE", "AEXPR_ILIKE", "AEXPR_SIMILAR"))


class Expressions:
    """Goes through the expressions of one statement; ``statement`` is what goes through the queries inside them.

    ``is_squashed`` says that the server wrote one constant in place of a longer list.
    """

    def __init__(
        self,
        schema: KnownSchema,
        found: Places,
        statement: Callable[[Any, Scope], dict[str, Origin | None]],
        *,
        is_squashed: bool,
    ) -> None:
        self._schema = schema
        self._found = found
        self._statement = statement
        self._is_squashed = is_squashed

    def rewritten(self, node: Any, scope: Scope) -> Any:
        """The same expression with places in it."""
        match node:
            case nodes.A_Expr():
                return self._operation(node, scope)
            case nodes.ParamRef():
                return self._found.place(node, PlaceUse.OTHER)
            case nodes.TypeCast() if isinstance(node.arg, nodes.ParamRef):
                return self._found.place(node, PlaceUse.OTHER, type_=printed(node.typeName))
            case nodes.FuncCall():
                return self._call(node, scope)
            case nodes.CoalesceExpr():
                self._like_first_column(node, scope)
            case nodes.MinMaxExpr():
                column = first_column(node.args)
                node.args = tuple(self._bound(one, node, column, scope) for one in node.args)
            case nodes.SubLink():
                self._sublink(node, scope)
            case _:
                self.generic(node, scope)
        return node

    def _operation(self, node: Any, scope: Scope) -> Any:
        name = node.name[-1].sval if node.name else "="
        left, right = node.lexpr, node.rexpr
        if isinstance(left, nodes.RowExpr):
            self._rows(node, name, scope)
        elif node.kind in _BETWEEN:
            node.lexpr = self.rewritten(left, scope)
            node.rexpr = tuple(
                self._compared(bound, node.lexpr, use, scope)
                for bound, use in zip(right, (PlaceUse.LOW, PlaceUse.HIGH), strict=True)
            )
        elif node.kind == "AEXPR_IN":
            node.lexpr = self.rewritten(left, scope)
            values = right if isinstance(right, tuple) else (right,)
            is_list = self._is_squashed and len(values) == 1
            node.rexpr = tuple(
                self._compared(value, node.lexpr, PlaceUse.ONE_OF, scope, is_list=is_list) for value in values
            )
        elif node.kind in ("AEXPR_OP_ANY", "AEXPR_OP_ALL"):
            if column_free(right):
                node.lexpr = self.rewritten(left, scope)
                node.rexpr = self._compared(right, node.lexpr, PlaceUse.ARRAY, scope)
            else:
                node.rexpr = self.rewritten(right, scope)
                node.lexpr = self._compared(left, node.rexpr, PlaceUse.ELEMENT, scope)
        else:
            self._two_sides(node, name, scope)
        return node

    def _two_sides(self, node: Any, name: str, scope: Scope) -> None:
        left, right = node.lexpr, node.rexpr
        if node.kind in _LIKE:
            use: PlaceUse | None = PlaceUse.PATTERN
        else:
            use = PlaceUse.DELTA if name in _SUMS else _COMPARED.get(name)
        if use is None or left is None or column_free(left) == column_free(right):
            node.lexpr, node.rexpr = self.rewritten(left, scope), self.rewritten(right, scope)
        elif column_free(right):
            node.lexpr = self.rewritten(left, scope)
            node.rexpr = self._compared(right, node.lexpr, use, scope, name=name)
        else:
            node.rexpr = self.rewritten(right, scope)
            mirrored = PlaceUse.OTHER if use in _ONE_SIDED else _MIRRORED.get(use, use)
            node.lexpr = self._compared(left, node.rexpr, mirrored, scope, name=name)

    def _compared(
        self, value: Any, other: Any, use: PlaceUse, scope: Scope, *, is_list: bool = False, name: str = ""
    ) -> Any:
        """``value`` as a place if it has no column and ``other`` has one."""
        if value is None or not (column_free(value) and has_parameter(value)) or column_free(other):
            return self.rewritten(value, scope)
        origins = [scope.find(one) for one in nodes_within(other) if isinstance(one, nodes.ColumnRef)]
        sources = {origin.source if origin is not None else None for origin in origins}
        source = sources.pop() if len(sources) == 1 else None
        origin = scope.find(other) if isinstance(other, nodes.ColumnRef) else None
        is_evaluable = source is not None and not has_query(other)
        if origin is not None and has_parts(origin) and name in ("||", "-"):
            use = PlaceUse.PART if name == "||" else PlaceUse.KEY
        return self._found.place(
            value,
            use,
            type_=type_beside(value, use, origin, name),
            source=source,
            expression=qualified_text(other, scope) if is_evaluable else None,
            column=origin.column.name if origin is not None else None,
            element=origin.column.element if origin is not None else None,
            is_list=is_list,
        )

    def _rows(self, node: Any, name: str, scope: Scope) -> None:
        """(a, b) = ($, $), (a, b) > ($, $) and (a, b) IN (($, $), ...)."""
        use = PlaceUse.ONE_OF if node.kind == "AEXPR_IN" else _COMPARED.get(name, PlaceUse.OTHER)
        left = node.lexpr.args
        rows = node.rexpr if isinstance(node.rexpr, tuple) else (node.rexpr,)
        for row in rows:
            values = row.args if isinstance(row, nodes.RowExpr) else ()
            if len(values) == len(left):
                row.args = tuple(
                    self._compared(value, other, use, scope) for value, other in zip(values, left, strict=True)
                )
            else:
                self.generic(row, scope)
        self._each_in(node.lexpr, "args", scope)

    def _call(self, node: Any, scope: Scope) -> Any:
        name = function_name(node)
        given = node.args
        known = self._schema.function(name, len(given))
        is_counter = name == "generate_series" and all(isinstance(one, nodes.ParamRef) for one in given)
        arguments: list[Any] = []
        for position, argument in enumerate(given):
            if is_counter:
                # Constants of no type, which the server cannot choose between its functions by: they were integers.
                use = PlaceUse.LIMIT if position == 1 else PlaceUse.OTHER
                arguments.append(self._found.place(argument, use, type_="integer", function=name, argument=position))
            elif isinstance(argument, nodes.NamedArgExpr):
                at = known.position(str(argument.name)) if known is not None else None
                argument.arg = self._argument(argument.arg, name, at, known, (), scope)
                arguments.append(argument)
            else:
                arguments.append(self._argument(argument, name, position, known, given, scope))
        node.args = tuple(arguments)
        if known is not None:
            self._look_into(known, arguments)
        for part in ("agg_filter", "agg_order", "over"):
            self.below(node, part, scope)
        return node

    def _argument(
        self,
        argument: Any,
        name: str,
        position: int | None,
        known: KnownFunction | None,
        given: tuple[Any, ...],
        scope: Scope,
    ) -> Any:
        """The argument at ``position`` of a call of ``name``, which is ``known`` if the application has made it."""
        if not (column_free(argument) and has_parameter(argument)):
            return self.rewritten(argument, scope)
        written = type_as_written(argument)
        spoken = spoken_of(name, position) if position is not None else None
        column = first_column(given[spoken[1]]) if spoken is not None and spoken[1] < len(given) else None
        origin = scope.find(column) if column is not None else None
        if spoken is not None and origin is not None:
            return self._part_of(argument, spoken[0], origin, written)
        type_ = known.types[position] if known is not None and position is not None else None
        use = PlaceUse.UNIT if (name, position) in UNITS else PlaceUse.OTHER
        return self._found.place(argument, use, type_=written or type_, function=name, argument=position or 0)

    def _part_of(self, argument: Any, use: PlaceUse, origin: Origin, type_: str | None) -> Any:
        """A key, a path or a member of a document, or an element of an array."""
        expression = f"{quoted(origin.alias)}.{quoted(origin.column.name)}"
        path = self._found.places[-1] if self._found.places else None
        if use is PlaceUse.MEMBER and path is not None and path.use is PlaceUse.PATH and path.source == origin.source:
            expression = f"{expression} #> ${path.number}"
        return self._found.place(
            argument,
            use,
            type_=type_,
            source=origin.source,
            column=origin.column.name,
            element=origin.column.element,
            expression=expression,
        )

    def _look_into(self, function: KnownFunction, arguments: Iterable[Any]) -> None:
        """What the body of a function does with its arguments says what they are."""
        if function.name in self._found.inside:
            return
        self._found.inside.append(function.name)
        by_position: dict[int, Any] = {}
        for at, argument in enumerate(arguments):
            is_named = isinstance(argument, nodes.NamedArgExpr)
            position = function.position(str(argument.name)) if is_named else at
            number = number_of(argument.arg if is_named else argument)
            if position is not None and number is not None:
                # Negative numbers are places of the statement, whatever function they have come into.
                by_position[position] = nodes.ParamRef(number=-abs(number))
        row = self._found.row
        for statement in body_with(function, [by_position.get(at) for at in range(len(function.types))]):
            with suppress(UsageError):
                self._statement(statement, Scope())
        self._found.row = row
        self._found.inside.pop()

    def _bound(self, argument: Any, node: Any, column: Any, scope: Scope) -> Any:
        """An argument of GREATEST or LEAST."""
        if not (column_free(argument) and has_parameter(argument)):
            return self.rewritten(argument, scope)
        origin = scope.find(column) if column is not None else None
        beside = [one for one in node.args if not column_free(one)]
        is_sum = all(isinstance(one, nodes.ColumnRef | nodes.A_Expr) for one in beside)
        if origin is None or not is_sum:
            return self._found.place(
                argument, PlaceUse.BOUND, type_=type_as_written(argument), function=bound_name(node)
            )
        type_ = origin.column.type if isinstance(beside[0], nodes.ColumnRef) else type_as_written(argument)
        return self._found.place(
            argument,
            PlaceUse.BOUND,
            type_=type_,
            source=origin.source,
            expression=qualified_text(column, scope),
            column=origin.column.name,
            function=bound_name(node),
        )

    def _like_first_column(self, node: Any, scope: Scope) -> None:
        """COALESCE(column, $): the value has the type of the column."""
        columns = [one for one in node.args if isinstance(one, nodes.ColumnRef)]
        first = columns[0] if columns else None
        node.args = tuple(
            self.rewritten(one, scope) if first is None else self._compared(one, first, PlaceUse.ASSIGN, scope)
            for one in node.args
        )

    def _sublink(self, node: Any, scope: Scope) -> None:
        columns = self._statement(node.subselect, scope)
        if node.testexpr is None:
            return
        origin = next(iter(columns.values()), None) if len(columns) == 1 else None
        if origin is not None and column_free(node.testexpr) and has_parameter(node.testexpr):
            node.testexpr = self._found.place(node.testexpr, PlaceUse.EQUAL, origin=origin)
        else:
            node.testexpr = self.rewritten(node.testexpr, scope)

    def generic(self, node: Any, scope: Scope) -> None:
        """Whatever stands below a node of which nothing special is known."""
        if not isinstance(node, nodes.Node):
            return
        if isinstance(node, nodes.SelectStmt):
            self._statement(node, scope)
            return
        for name in node:
            self.below(node, name, scope)

    def below(self, node: Any, name: str, scope: Scope) -> None:
        value = getattr(node, name)
        if isinstance(value, tuple):
            setattr(node, name, self.each(value, scope))
        elif isinstance(value, nodes.SelectStmt):
            self._statement(value, scope)
        elif isinstance(value, nodes.Node):
            setattr(node, name, self.rewritten(value, scope))

    def each(self, values: tuple[Any, ...], scope: Scope) -> tuple[Any, ...]:
        return tuple(
            self.each(value, scope)
            if isinstance(value, tuple)
            else self.rewritten(value, scope)
            if isinstance(value, nodes.Node)
            else value
            for value in values
        )

    def _each_in(self, node: Any, name: str, scope: Scope) -> None:
        setattr(node, name, self.each(getattr(node, name), scope))
