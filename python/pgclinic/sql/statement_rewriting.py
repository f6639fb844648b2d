"""Statements with places for values in them: which tables and columns their names mean, clause by clause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.sql import nodes
from pgclinic.sql.expression_rewriting import Expressions
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import (
    column_free,
    conjuncts,
    has_call,
    has_parameter,
    has_query,
    qualified_text,
    result_name,
)
from pgclinic.sql.places import Places
from pgclinic.sql.quoting import quoted
from pgclinic.sql.scope import Entry, KnownColumn, KnownSchema, KnownTable, Origin, Scope
from pgclinic.sql.statement_places import FilledColumn, JoinedBy, PlaceUse


class Statements:
    """Goes through one tree, puts places into it, and remembers what each is.

    ``found`` are the places, ``unknown`` the tables that the schema does not have, ``outputs`` what INSERT ... SELECT
    makes of the rows that it reads.
    """

    def __init__(self, schema: KnownSchema, *, is_squashed: bool) -> None:
        self.found = Places()
        self.unknown: list[str] = []
        self.outputs: tuple[FilledColumn, ...] = ()
        self._schema = schema
        self._expressions = Expressions(schema, self.found, self.rewritten, is_squashed=is_squashed)
        #: The query whose rows an INSERT takes.
        self._filling: Any = None

    def rewritten(self, node: Any, outer: Scope) -> dict[str, Origin | None]:
        """Rewrite a statement; the columns that it returns."""
        scope = Scope(outer)
        if getattr(node, "withClause", None) is not None:
            for query in node.withClause.ctes:
                columns = self.rewritten(query.ctequery, scope)
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
            columns = self.rewritten(node.larg, scope)
            self.rewritten(node.rarg, scope)
            columns = dict.fromkeys(columns)
        else:
            self._from(node.fromClause, scope)
            if node is self._filling:
                self._note_outputs(node.targetList, scope)
            columns = self._targets(node.targetList, scope)
            if node.whereClause is not None:
                self._condition(node, "whereClause", scope)
            for name in ("groupClause", "havingClause", "windowClause", "distinctClause"):
                self._expressions.below(node, name, scope)
            for row, values in enumerate(node.valuesLists):
                self.found.row = row
                self._expressions.each(values, scope)
        self.found.note_order(node.sortClause, scope)
        self._expressions.below(node, "sortClause", scope)
        for name, use in (("limitCount", PlaceUse.LIMIT), ("limitOffset", PlaceUse.OFFSET)):
            value = getattr(node, name)
            if value is not None and has_parameter(value):
                setattr(node, name, self.found.place(value, use, type_="bigint"))
        return columns

    def _insert(self, node: Any, scope: Scope) -> None:
        table = self._table(node.relation)
        names = [target.name for target in node.cols]
        if table is not None and not names:
            names = list(table.columns)
        if table is not None:
            self._add(table, node.relation, scope)
        number = len(self.found.sources) - 1 if table is not None else None
        columns = [table.columns.get(name) if table is not None else None for name in names]
        select = node.selectStmt
        if select is not None and select.valuesLists:
            select.valuesLists = tuple(
                tuple(self._inserted(value, column, number, row, scope) for value, column in _paired(values, columns))
                for row, values in enumerate(select.valuesLists)
            )
        elif select is not None:
            if not self.found.inside:
                self._filling = select
            for target, column in _paired(select.targetList, columns):
                if column is not None and column_free(target.val) and has_parameter(target.val):
                    target.val = self._inserted(target.val, column, number, 0, scope)
            self.rewritten(select, scope)
            if not self.found.inside:
                self.outputs = tuple(
                    replace(output, column=name)
                    for name, output in zip(names, self.outputs, strict=False)
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
        self.found.row = row
        if column is None or not (column_free(value) and has_parameter(value)):
            return self._expressions.rewritten(value, scope)
        return self.found.place(
            value, PlaceUse.INSERT, type_=column.type, source=source, column=column.name, element=column.element
        )

    def _assignments(self, targets: Any, scope: Scope) -> None:
        for target in targets or ():
            value = target.val
            entry = scope.entries[0] if scope.entries else None
            origin = entry.columns.get(target.name) if entry is not None else None
            if isinstance(value, nodes.MultiAssignRef):
                self._expressions.below(value, "source", scope)
            elif origin is not None and not target.indirection and column_free(value) and has_parameter(value):
                target.val = self.found.place(value, PlaceUse.ASSIGN, origin=origin)
            else:
                target.val = self._expressions.rewritten(value, scope)

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
        self.outputs = tuple(noted)

    def _merge(self, node: Any, scope: Scope) -> None:
        self._from((node.relation, node.sourceRelation), scope)
        self._condition(node, "joinCondition", scope)
        for clause in node.mergeWhenClauses:
            if clause.condition is not None:
                clause.condition = self._expressions.rewritten(clause.condition, scope)
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
                columns = self.rewritten(item.subquery, scope)
                self._offer(item.alias, columns, scope)
            case nodes.RangeFunction():
                self._expressions.below(item, "functions", scope)
                self._offer(item.alias, {}, scope)
            case _:
                self._expressions.generic(item, scope)

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
        if table is None and not self.found.inside:
            self.unknown.append(f"{item.schemaname}.{item.relname}" if item.schemaname else str(item.relname))
        return table

    def _add(self, table: KnownTable, item: Any, scope: Scope, *, alias: str | None = None) -> None:
        named = alias or (item.alias.aliasname if item.alias is not None else item.relname)
        source = self.found.add_source(table.name, named)
        columns = {name: Origin(source.number, source.alias, table, column) for name, column in table.columns.items()}
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
                self.found.joins.append(
                    JoinedBy(
                        sources=(sides[0].source, sides[1].source),
                        condition=condition,
                        columns=(name.sval, name.sval),
                    )
                )

    def _condition(self, node: Any, name: str, scope: Scope) -> None:
        """A WHERE or ON clause: its parts that need no value say which rows are meant."""
        for part in conjuncts(getattr(node, name)):
            if not has_parameter(part) and not has_query(part):
                self.found.keep_filter(part, scope)
        setattr(node, name, self._expressions.rewritten(getattr(node, name), scope))

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
            target.val = self._expressions.rewritten(value, scope)
        return columns


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
