"""A statement of pg_stat_statements as one that can run: its constants become typed places for values.

The texts that the server keeps can often not even be prepared: ``interval $1``, ``$1 + $2``. Here every expression
without a column that is compared, inserted or assigned becomes one place with the type of the column.
"""

from __future__ import annotations

import re
from typing import Any

from pgclinic.errors import UsageError
from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import function_name
from pgclinic.sql.parser import UnprintableError, UnreadableError, printed, statements_of
from pgclinic.sql.scope import KnownSchema, Origin, Scope
from pgclinic.sql.statement_comments import SHORTENED
from pgclinic.sql.statement_places import ReturnedColumn, TypedStatement
from pgclinic.sql.statement_rewriting import Statements

_WITH_PLAN = (nodes.SelectStmt, nodes.InsertStmt, nodes.UpdateStmt, nodes.DeleteStmt, nodes.MergeStmt)
#: A name that a variable of a script can have.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def typed_statement(text: str, schema: KnownSchema) -> TypedStatement:
    """``text`` with typed places instead of its ``$n``. Raises UsageError for a text that is no single statement."""
    try:
        (statement,) = statements_of(text)
    except ValueError as error:
        raise UsageError(f"the statement cannot be parsed: {error}") from error
    if not isinstance(statement, _WITH_PLAN) or getattr(statement, "intoClause", None) is not None:
        raise UsageError("the statement has no plan")
    rewriting = Statements(schema, is_squashed=SHORTENED in text)
    try:
        columns = rewriting.rewritten(statement, Scope())
        return _typed(printed(statement), statement, rewriting, columns, schema)
    except (UnreadableError, UnprintableError, RecursionError) as error:
        raise UsageError(f"the statement cannot be printed: {error}") from error


def _typed(
    text: str, node: Any, rewriting: Statements, columns: dict[str, Origin | None], schema: KnownSchema
) -> TypedStatement:
    verb = type(node).__name__.removesuffix("Stmt").lower()
    relation = getattr(node, "relation", None)
    target = schema.find(relation.schemaname, relation.relname) if relation is not None else None
    below = nodes_within(node)
    found = rewriting.found
    return TypedStatement(
        text=text,
        verb=verb,
        target=target.name if target is not None else None,
        places=tuple(found.places),
        sources=tuple(found.sources),
        joins=tuple(found.joins),
        tables=tuple(dict.fromkeys(source.table for source in found.sources)),
        unknown_relations=tuple(dict.fromkeys(rewriting.unknown)),
        functions=tuple(dict.fromkeys(function_name(call) for call in below if isinstance(call, nodes.FuncCall))),
        locks_rows=any(isinstance(one, nodes.LockingClause) for one in below),
        filled=rewriting.outputs,
        conflict=_on_conflict(node),
        returned=tuple(
            ReturnedColumn(name=name, table=origin.table.name, column=origin.column.name, is_made=verb == "insert")
            for name, origin in columns.items()
            if origin is not None
        )
        if all(_VARIABLE.fullmatch(name) for name in columns)
        else (),
    )


def _on_conflict(node: Any) -> str | None:
    clause = getattr(node, "onConflictClause", None)
    if clause is None:
        return None
    return "update" if clause.action == "ONCONFLICT_UPDATE" else "nothing"
