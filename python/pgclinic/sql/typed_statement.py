"""A statement of pg_stat_statements as one that can run: its constants become typed places for values.

The texts that the server keeps can often not even be prepared: ``interval $1``, ``$1 + $2``. Here every expression
without a column that is compared, inserted or assigned becomes one place with the type of the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.sql import nodes
from pgclinic.sql.known_functions import KnownFunction, body_with
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import (
    bound_name,
    column_free,
    conjuncts,
    first_column,
    function_name,
    has_call,
    has_parameter,
    has_query,
    joined_columns,
    qualified_text,
    result_name,
    type_name,
)
from pgclinic.sql.parser import UnprintableError, printed, statements_of
from pgclinic.sql.place_types import UNITS, has_parts, joined_type, spoken_of, type_as_written, type_of_value
from pgclinic.sql.quoting import quoted
from pgclinic.sql.scope import Entry, KnownColumn, KnownSchema, KnownTable, Origin, Scope
from pgclinic.sql.statement_comments import SHORTENED
from pgclinic.sql.statement_places import (
    FilledColumn,
    JoinedBy,
    Place,
    PlaceUse,
    ReturnedColumn,
    Source,
    TypedStatement,
)

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
_WITH_PLAN = (nodes.SelectStmt, nodes.InsertStmt, nodes.UpdateStmt, nodes.DeleteStmt, nodes.MergeStmt)
#: The value has another type than the expression beside it.
_OWN_TYPE = frozenset((PlaceUse.CONTAINS, PlaceUse.WITHIN, PlaceUse.OVERLAPS))
#: A name that a variable of a script can have.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: They leave a text that went through them as it is.
_IDEMPOTENT = frozenset(("lower", "upper", "btrim", "ltrim", "rtrim"))


def typed_statement(text: str, schema: KnownSchema) -> TypedStatement:
    """``text`` with typed places instead of its ``$n``. Raises UsageError for a text that is no single statement."""
    try:
        (statement,) = statements_of(text)
    except ValueError as error:
        raise UsageError(f"the statement cannot be parsed: {error}") from error
    if not isinstance(statement, _WITH_PLAN) or getattr(statement, "intoClause", None) is not None:
        raise UsageError("the statement has no plan")
    rewriter = _Rewriter(schema, is_squashed=SHORTENED in text)
    columns = rewriter.statement(statement, Scope())
    try:
        text = printed(statement)
    except UnprintableError as error:
        raise UsageError(f"the statement cannot be printed: {error}") from error
    return rewriter.result(text, statement, columns)


class _Rewriter:
    """Goes through one tree, puts places into it, and remembers what each is."""

    def __init__(self, schema: KnownSchema, *, is_squashed: bool) -> None:
        self._schema = schema
        self._is_squashed = is_squashed
        self._places: list[Place] = []
        self._by_original: dict[int, int] = {}
        self._sources: list[Source] = []
        self._joins: list[JoinedBy] = []
        self._unknown: list[str] = []
        self._row = 0
        #: The query whose rows an INSERT takes, and what it does with them.
        self._filling: Any = None
        self._outputs: tuple[FilledColumn, ...] = ()
        #: The functions whose bodies are being looked into: only what is known of their arguments is kept.
        self._inside: list[str] = []

    def result(self, text: str, node: Any, columns: dict[str, Origin | None]) -> TypedStatement:
        verb = type(node).__name__.removesuffix("Stmt").lower()
        relation = getattr(node, "relation", None)
        target = self._schema.find(relation.schemaname, relation.relname) if relation is not None else None
        below = nodes_within(node)
        return TypedStatement(
            text=text,
            verb=verb,
            target=target.name if target is not None else None,
            places=tuple(self._places),
            sources=tuple(self._sources),
            joins=tuple(self._joins),
            tables=tuple(dict.fromkeys(source.table for source in self._sources)),
            unknown_relations=tuple(dict.fromkeys(self._unknown)),
            functions=tuple(dict.fromkeys(function_name(one) for one in below if isinstance(one, nodes.FuncCall))),
            locks_rows=any(isinstance(one, nodes.LockingClause) for one in below),
            filled=self._outputs,
            conflict=_on_conflict(node),
            returned=tuple(
                ReturnedColumn(name=name, table=origin.table.name, column=origin.column.name, is_made=verb == "insert")
                for name, origin in columns.items()
                if origin is not None
            )
            if all(_VARIABLE.fullmatch(name) for name in columns)
            else (),
        )

    # Statements

    def statement(self, node: Any, outer: Scope) -> dict[str, Origin | None]:
        """Rewrite a statement; the columns that it returns."""
        scope = Scope(outer)
        if getattr(node, "withClause", None) is not None:
            for query in node.withClause.ctes:
                columns = self.statement(query.ctequery, scope)
                names = [name.sval for name in query.aliascolnames]
                scope.queries[query.ctename] = _renamed(columns, names)
        match node:
            case nodes.SelectStmt():
                return self._select(node, scope)
            case nodes.InsertStmt():
                self._insert(node, scope)
            case nodes.UpdateStmt():
                self._from((node.relation, *node.fromClause), scope)
                self._assignments(node.targetList, scope)
            case nodes.DeleteStmt():
                self._from((node.relation, *node.usingClause), scope)
            case nodes.MergeStmt():
                self._merge(node, scope)
            case _:
                raise UsageError(f"{type(node).__name__} is not a statement with a plan")
        if getattr(node, "whereClause", None) is not None:
            self._condition(node, "whereClause", scope)
        return self._targets(self._returned(node), scope)

    @staticmethod
    def _returned(node: Any) -> Iterable[Any]:
        clause = getattr(node, "returningClause", None)
        return clause.exprs if clause is not None else ()

    def _select(self, node: Any, scope: Scope) -> dict[str, Origin | None]:
        if node.op != "SETOP_NONE":
            columns = self.statement(node.larg, scope)
            self.statement(node.rarg, scope)
            columns = dict.fromkeys(columns)
        else:
            self._from(node.fromClause, scope)
            if node is self._filling:
                self._note_outputs(node.targetList, scope)
            columns = self._targets(node.targetList, scope)
            if node.whereClause is not None:
                self._condition(node, "whereClause", scope)
            for name in ("groupClause", "havingClause", "windowClause", "distinctClause"):
                self._below(node, name, scope)
            for row, values in enumerate(node.valuesLists):
                self._row = row
                self._each(values, scope)
        self._note_order(node.sortClause, scope)
        self._below(node, "sortClause", scope)
        for name, use in (("limitCount", PlaceUse.LIMIT), ("limitOffset", PlaceUse.OFFSET)):
            value = getattr(node, name)
            if value is not None and has_parameter(value):
                setattr(node, name, self._place(value, use, type_="bigint"))
        return columns

    def _insert(self, node: Any, scope: Scope) -> None:
        table = self._table(node.relation)
        names = [target.name for target in node.cols]
        if table is not None and not names:
            names = list(table.columns)
        if table is not None:
            self._add(table, node.relation, scope)
        number = len(self._sources) - 1 if table is not None else None
        columns = [table.columns.get(name) if table is not None else None for name in names]
        select = node.selectStmt
        if select is not None and select.valuesLists:
            select.valuesLists = tuple(
                tuple(self._inserted(value, column, number, row, scope) for value, column in _paired(values, columns))
                for row, values in enumerate(select.valuesLists)
            )
        elif select is not None:
            if not self._inside:
                self._filling = select
            for target, column in _paired(select.targetList, columns):
                if column is not None and column_free(target.val) and has_parameter(target.val):
                    target.val = self._inserted(target.val, column, number, 0, scope)
            self.statement(select, scope)
            if not self._inside:
                self._outputs = tuple(
                    replace(output, column=name)
                    for name, output in zip(names, self._outputs, strict=False)
                    if output.column
                )
        conflict = node.onConflictClause
        if conflict is not None and table is not None:
            inner = Scope(scope)
            self._add(table, node.relation, inner, alias="excluded")
            self._assignments(conflict.targetList, inner)
            if conflict.whereClause is not None:
                self._condition(conflict, "whereClause", inner)

    def _inserted(self, value: Any, column: KnownColumn | None, source: int | None, row: int, scope: Scope) -> Any:
        self._row = row
        if column is None or not (column_free(value) and has_parameter(value)):
            return self._expression(value, scope)
        return self._place(
            value, PlaceUse.INSERT, type_=column.type, source=source, column=column.name, element=column.element
        )

    def _assignments(self, targets: Any, scope: Scope) -> None:
        for target in targets or ():
            value = target.val
            entry = scope.entries[0] if scope.entries else None
            origin = entry.columns.get(target.name) if entry is not None else None
            if isinstance(value, nodes.MultiAssignRef):
                self._below(value, "source", scope)
            elif origin is not None and not target.indirection and column_free(value) and has_parameter(value):
                target.val = self._place(value, PlaceUse.ASSIGN, origin=origin)
            else:
                target.val = self._expression(value, scope)

    def _note_outputs(self, targets: Iterable[Any], scope: Scope) -> None:
        """What the rows of INSERT ... SELECT are made of, where it is no value alone: that has a place by now."""
        noted = []
        for target in targets:
            value = target.val
            origins = [scope.find(one) for one in nodes_within(value) if isinstance(one, nodes.ColumnRef)]
            sources = {origin.source if origin is not None else None for origin in origins}
            number = sources.pop() if len(sources) == 1 else None
            is_place = column_free(value) and has_parameter(value)
            is_known = number is not None and not has_parameter(value) and not has_query(value)
            expression = qualified_text(value, scope) if is_known and not has_call(value) else None
            name = "" if is_place else "?"
            noted.append(FilledColumn(column=name, source=number if expression else None, expression=expression))
        self._outputs = tuple(noted)

    def _merge(self, node: Any, scope: Scope) -> None:
        self._from((node.relation, node.sourceRelation), scope)
        self._condition(node, "joinCondition", scope)
        for clause in node.mergeWhenClauses:
            if clause.condition is not None:
                clause.condition = self._expression(clause.condition, scope)
            if clause.values:
                table = self._schema.find(node.relation.schemaname, node.relation.relname)
                names = [target.name for target in clause.targetList] or list(table.columns if table else ())
                columns = [table.columns.get(name) if table is not None else None for name in names]
                clause.values = tuple(
                    self._inserted(value, column, 0, 0, scope) for value, column in _paired(clause.values, columns)
                )
            else:
                self._assignments(clause.targetList, scope)

    # FROM

    def _from(self, items: Iterable[Any], scope: Scope) -> None:
        for item in items:
            self._from_item(item, scope)

    def _from_item(self, item: Any, scope: Scope) -> None:
        match item:
            case nodes.RangeVar():
                self._range(item, scope)
            case nodes.JoinExpr():
                before = len(scope.entries)
                self._from_item(item.larg, scope)
                self._from_item(item.rarg, scope)
                self._joined_using(item, scope.entries[before:])
                if item.quals is not None:
                    self._condition(item, "quals", scope)
            case nodes.RangeSubselect():
                columns = self.statement(item.subquery, scope)
                self._offer(item.alias, columns, scope)
            case nodes.RangeFunction():
                self._below(item, "functions", scope)
                self._offer(item.alias, {}, scope)
            case _:
                self._generic(item, scope)

    def _range(self, item: Any, scope: Scope) -> None:
        query = scope.query_named(item.relname) if item.schemaname is None else None
        alias = item.alias.aliasname if item.alias is not None else item.relname
        if query is not None:
            scope.entries.append(Entry(alias, dict(query)))
            return
        table = self._table(item)
        if table is not None:
            self._add(table, item, scope)

    def _table(self, item: Any) -> KnownTable | None:
        table = self._schema.find(item.schemaname, item.relname)
        if table is None and not self._inside:
            self._unknown.append(f"{item.schemaname}.{item.relname}" if item.schemaname else str(item.relname))
        return table

    def _add(self, table: KnownTable, item: Any, scope: Scope, *, alias: str | None = None) -> None:
        named = alias or (item.alias.aliasname if item.alias is not None else item.relname)
        number = len(self._sources)
        # Mentions may be drawn together, and so each has a name of its own.
        own = f"{named}_{number}" if any(source.alias == named for source in self._sources) else named
        self._sources.append(Source(number=number, table=table.name, alias=own))
        columns = {name: Origin(number, own, table, column) for name, column in table.columns.items()}
        scope.entries.append(Entry(named, dict(columns)))

    @staticmethod
    def _offer(alias: Any, columns: dict[str, Origin | None], scope: Scope) -> None:
        names = [name.sval for name in alias.colnames] if alias is not None else []
        scope.entries.append(Entry(alias.aliasname if alias is not None else "", _renamed(columns, names)))

    def _joined_using(self, item: Any, entries: list[Entry]) -> None:
        for name in item.usingClause:
            sides = [entry.columns[name.sval] for entry in entries if entry.columns.get(name.sval) is not None]
            if len(sides) == 2 and sides[0] is not None and sides[1] is not None:
                condition = " = ".join(f"{quoted(side.alias)}.{quoted(name.sval)}" for side in sides if side)
                self._joins.append(
                    JoinedBy(
                        sources=(sides[0].source, sides[1].source),
                        condition=condition,
                        columns=(name.sval, name.sval),
                    )
                )

    # Expressions

    def _condition(self, node: Any, name: str, scope: Scope) -> None:
        """A WHERE or ON clause: its parts that need no value say which rows are meant."""
        for part in conjuncts(getattr(node, name)):
            if not has_parameter(part) and not has_query(part):
                self._keep_filter(part, scope)
        setattr(node, name, self._expression(getattr(node, name), scope))

    def _keep_filter(self, part: Any, scope: Scope) -> None:
        origins = [scope.find(one) for one in nodes_within(part) if isinstance(one, nodes.ColumnRef)]
        sources = sorted({origin.source for origin in origins if origin is not None})
        if not origins or None in origins:
            return
        text = qualified_text(part, scope)
        if len(sources) == 1:
            source = self._sources[sources[0]]
            self._sources[sources[0]] = replace(source, filters=(*source.filters, text))
        elif len(sources) == 2:
            first, second = sources
            columns = joined_columns(part, scope, first)
            self._joins.append(JoinedBy(sources=(first, second), condition=text, columns=columns))

    def _note_order(self, items: Iterable[Any], scope: Scope) -> None:
        """ORDER BY columns of one table, all in one direction: an index on them gives the rows in this order."""
        found = [scope.find(one.node) if isinstance(one.node, nodes.ColumnRef) else None for one in items]
        origins = [origin for origin in found if origin is not None]
        directions = {one.sortby_dir == "SORTBY_DESC" for one in items}
        is_plain = all(one.sortby_nulls == "SORTBY_NULLS_DEFAULT" for one in items)
        if len(origins) < len(found) or len({one.source for one in origins}) != 1 or len(directions) != 1:
            return
        if is_plain:
            number = origins[0].source
            ordered = tuple(one.column.name for one in origins)
            self._sources[number] = replace(self._sources[number], ordered=ordered)

    def _targets(self, targets: Iterable[Any], scope: Scope) -> dict[str, Origin | None]:
        columns: dict[str, Origin | None] = {}
        for target in targets:
            value = target.val
            fields = value.fields if isinstance(value, nodes.ColumnRef) else None
            if fields and isinstance(fields[-1], nodes.A_Star):
                for entry in scope.entries:
                    if len(fields) == 1 or entry.alias == fields[0].sval:
                        columns |= entry.columns or {"": None}
                continue
            origin = scope.find(value) if isinstance(value, nodes.ColumnRef) else None
            columns[result_name(target) or ""] = origin
            target.val = self._expression(value, scope)
        return columns

    def _expression(self, node: Any, scope: Scope) -> Any:
        """The same expression with places in it."""
        match node:
            case nodes.A_Expr():
                return self._operation(node, scope)
            case nodes.ParamRef():
                return self._place(node, PlaceUse.OTHER)
            case nodes.TypeCast() if isinstance(node.arg, nodes.ParamRef):
                return self._place(node, PlaceUse.OTHER, type_=printed(node.typeName))
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
                self._generic(node, scope)
        return node

    def _operation(self, node: Any, scope: Scope) -> Any:
        name = node.name[-1].sval if node.name else "="
        left, right = node.lexpr, node.rexpr
        if isinstance(left, nodes.RowExpr):
            self._rows(node, name, scope)
        elif node.kind in _BETWEEN:
            node.lexpr = self._expression(left, scope)
            node.rexpr = tuple(
                self._compared(bound, node.lexpr, use, scope)
                for bound, use in zip(right, (PlaceUse.LOW, PlaceUse.HIGH), strict=True)
            )
        elif node.kind == "AEXPR_IN":
            node.lexpr = self._expression(left, scope)
            values = right if isinstance(right, tuple) else (right,)
            is_list = self._is_squashed and len(values) == 1
            node.rexpr = tuple(
                self._compared(value, node.lexpr, PlaceUse.ONE_OF, scope, is_list=is_list) for value in values
            )
        elif node.kind in ("AEXPR_OP_ANY", "AEXPR_OP_ALL"):
            if column_free(right):
                node.lexpr = self._expression(left, scope)
                node.rexpr = self._compared(right, node.lexpr, PlaceUse.ARRAY, scope)
            else:
                node.rexpr = self._expression(right, scope)
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
            node.lexpr, node.rexpr = self._expression(left, scope), self._expression(right, scope)
        elif column_free(right):
            node.lexpr = self._expression(left, scope)
            node.rexpr = self._compared(right, node.lexpr, use, scope, name=name)
        else:
            node.rexpr = self._expression(right, scope)
            mirrored = PlaceUse.OTHER if use in _ONE_SIDED else _MIRRORED.get(use, use)
            node.lexpr = self._compared(left, node.rexpr, mirrored, scope, name=name)

    def _compared(
        self, value: Any, other: Any, use: PlaceUse, scope: Scope, *, is_list: bool = False, name: str = ""
    ) -> Any:
        """``value`` as a place if it has no column and ``other`` has one."""
        if value is None or not (column_free(value) and has_parameter(value)) or column_free(other):
            return self._expression(value, scope)
        origins = [scope.find(one) for one in nodes_within(other) if isinstance(one, nodes.ColumnRef)]
        sources = {origin.source if origin is not None else None for origin in origins}
        source = sources.pop() if len(sources) == 1 else None
        origin = scope.find(other) if isinstance(other, nodes.ColumnRef) else None
        is_evaluable = source is not None and not has_query(other)
        if origin is not None and has_parts(origin) and name in ("||", "-"):
            use = PlaceUse.PART if name == "||" else PlaceUse.KEY
        return self._place(
            value,
            use,
            type_=_type_beside(value, use, origin, name),
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
                self._generic(row, scope)
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
                arguments.append(self._place(argument, use, type_="integer", function=name, argument=position))
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
            self._below(node, part, scope)
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
            return self._expression(argument, scope)
        written = type_as_written(argument)
        spoken = spoken_of(name, position) if position is not None else None
        column = first_column(given[spoken[1]]) if spoken is not None and spoken[1] < len(given) else None
        origin = scope.find(column) if column is not None else None
        if spoken is not None and origin is not None:
            return self._part_of(argument, spoken[0], origin, written)
        type_ = known.types[position] if known is not None and position is not None else None
        use = PlaceUse.UNIT if (name, position) in UNITS else PlaceUse.OTHER
        return self._place(argument, use, type_=written or type_, function=name, argument=position or 0)

    def _part_of(self, argument: Any, use: PlaceUse, origin: Origin, type_: str | None) -> Any:
        """A key, a path or a member of a document, or an element of an array."""
        expression = f"{quoted(origin.alias)}.{quoted(origin.column.name)}"
        path = self._places[-1] if self._places else None
        if use is PlaceUse.MEMBER and path is not None and path.use is PlaceUse.PATH and path.source == origin.source:
            expression = f"{expression} #> ${path.number}"
        return self._place(
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
        if function.name in self._inside:
            return
        self._inside.append(function.name)
        by_position: dict[int, Any] = {}
        for at, argument in enumerate(arguments):
            is_named = isinstance(argument, nodes.NamedArgExpr)
            position = function.position(str(argument.name)) if is_named else at
            number = _number_of(argument.arg if is_named else argument)
            if position is not None and number is not None:
                # Negative numbers are places of the statement, whatever function they have come into.
                by_position[position] = nodes.ParamRef(number=-abs(number))
        row = self._row
        for statement in body_with(function, [by_position.get(at) for at in range(len(function.types))]):
            with suppress(UsageError):
                self.statement(statement, Scope())
        self._row = row
        self._inside.pop()

    def _bound(self, argument: Any, node: Any, column: Any, scope: Scope) -> Any:
        """An argument of GREATEST or LEAST."""
        if not (column_free(argument) and has_parameter(argument)):
            return self._expression(argument, scope)
        origin = scope.find(column) if column is not None else None
        beside = [one for one in node.args if not column_free(one)]
        is_sum = all(isinstance(one, nodes.ColumnRef | nodes.A_Expr) for one in beside)
        if origin is None or not is_sum:
            return self._place(argument, PlaceUse.BOUND, type_=type_as_written(argument), function=bound_name(node))
        type_ = origin.column.type if isinstance(beside[0], nodes.ColumnRef) else type_as_written(argument)
        return self._place(
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
            self._expression(one, scope) if first is None else self._compared(one, first, PlaceUse.ASSIGN, scope)
            for one in node.args
        )

    def _sublink(self, node: Any, scope: Scope) -> None:
        columns = self.statement(node.subselect, scope)
        if node.testexpr is None:
            return
        origin = next(iter(columns.values()), None) if len(columns) == 1 else None
        if origin is not None and column_free(node.testexpr) and has_parameter(node.testexpr):
            node.testexpr = self._place(node.testexpr, PlaceUse.EQUAL, origin=origin)
        else:
            node.testexpr = self._expression(node.testexpr, scope)

    def _generic(self, node: Any, scope: Scope) -> None:
        """Whatever stands below a node of which nothing special is known."""
        if not isinstance(node, nodes.Node):
            return
        if isinstance(node, nodes.SelectStmt):
            self.statement(node, scope)
            return
        for name in node:
            self._below(node, name, scope)

    def _below(self, node: Any, name: str, scope: Scope) -> None:
        value = getattr(node, name)
        if isinstance(value, tuple):
            setattr(node, name, self._each(value, scope))
        elif isinstance(value, nodes.SelectStmt):
            self.statement(value, scope)
        elif isinstance(value, nodes.Node):
            setattr(node, name, self._expression(value, scope))

    def _each(self, values: tuple[Any, ...], scope: Scope) -> tuple[Any, ...]:
        return tuple(
            self._each(value, scope)
            if isinstance(value, tuple)
            else self._expression(value, scope)
            if isinstance(value, nodes.Node)
            else value
            for value in values
        )

    def _each_in(self, node: Any, name: str, scope: Scope) -> None:
        setattr(node, name, self._each(getattr(node, name), scope))

    # Places

    def _place(
        self, node: Any, use: PlaceUse, *, type_: str | None = None, origin: Origin | None = None, **known: Any
    ) -> Any:
        """A typed parameter instead of ``node``, which has no column. The same parameter is the same place."""
        if origin is not None:
            type_ = origin.column.type
            known |= {
                "source": origin.source,
                "column": origin.column.name,
                "element": origin.column.element,
                "expression": f"{quoted(origin.alias)}.{quoted(origin.column.name)}",
            }
        inner = node.arg if isinstance(node, nodes.TypeCast) else node
        original = inner.number if isinstance(inner, nodes.ParamRef) else None
        number = self._by_original.get(original, 0) if original is not None else 0
        source = known.get("source")
        table = self._sources[source].table if source is not None else None
        if self._inside:
            self._note_argument(node, use, table=table, row=self._row, **known)
            return node
        new = number or len(self._places) + 1
        known["is_computed"] = original is None
        place = Place(number=new, use=use, type=type_, table=table, row=self._row, **known)
        if not number:
            self._places.append(place)
            if original is not None:
                self._by_original[original] = place.number
        elif self._places[number - 1].use is PlaceUse.OTHER:
            self._places[number - 1] = place
        reference = nodes.ParamRef(number=place.number)
        if type_ is None or place.is_list:
            return reference
        return nodes.TypeCast(arg=reference, typeName=type_name(type_))

    def _note_argument(self, node: Any, use: PlaceUse, **known: Any) -> None:
        """What a function does with a place of the statement that calls it; the place keeps its type."""
        inner = node
        while isinstance(inner, nodes.TypeCast) or (
            isinstance(inner, nodes.FuncCall) and function_name(inner) in _IDEMPOTENT
        ):
            inner = inner.arg if isinstance(inner, nodes.TypeCast) else (inner.args or (None,))[0]
        number = _number_of(inner)
        before = self._places[-number - 1] if number is not None and number < 0 else None
        if before is not None and before.use is PlaceUse.OTHER:
            known["is_computed"] = before.is_computed
            self._places[before.number - 1] = Place(number=before.number, use=use, type=before.type, **known)


def _paired(values: Iterable[Any], columns: list[KnownColumn | None]) -> Iterable[tuple[Any, KnownColumn | None]]:
    values = tuple(values)
    return zip(values, [*columns, *([None] * len(values))][: len(values)], strict=True)


def _renamed(columns: dict[str, Origin | None], names: list[str]) -> dict[str, Origin | None]:
    """Columns under the names that an alias gives to the first of them."""
    found = list(columns.items())
    return dict(
        [(names[at] if at < len(names) else name, origin) for at, (name, origin) in enumerate(found)]
        + [(name, None) for name in names[len(found) :]]
    )


def _type_beside(value: Any, use: PlaceUse, origin: Origin | None, operator: str) -> str | None:
    """The type of a value by what stands on the other side of its operator, else by its own casts."""
    type_ = joined_type(origin) if operator == "||" else type_of_value(use, origin)
    return type_ or (type_as_written(value) if use in _OWN_TYPE else None)


def _on_conflict(node: Any) -> str | None:
    clause = getattr(node, "onConflictClause", None)
    if clause is None:
        return None
    return "update" if clause.action == "ONCONFLICT_UPDATE" else "nothing"


def _number_of(node: Any) -> int | None:
    """Of the place that an argument is."""
    inner = node.arg if isinstance(node, nodes.TypeCast) else node
    return int(inner.number) if isinstance(inner, nodes.ParamRef) else None
