"""An expression of a statement as an index of its table has it: columns by their names alone."""

from __future__ import annotations

from typing import Any

from pglast import ast, parser
from pglast.stream import RawStream

from pgclinic.sql.statement_kind import nodes_within


def without_aliases(expression: str) -> str | None:
    """``lower(c.email)`` is lower(email). None for what cannot be parsed, or has a parameter or a query in it."""
    try:
        statement: Any = parser.parse_sql(f"SELECT {expression}")[0].stmt
    except (parser.ParseError, UnicodeError, RecursionError):
        return None
    value = statement.targetList[0].val
    for node in nodes_within(value):
        if isinstance(node, ast.ParamRef | ast.SubLink):
            return None
        if isinstance(node, ast.ColumnRef):
            fields: Any = node.fields
            node.fields = (fields[-1],)
    return str(RawStream()(value))
