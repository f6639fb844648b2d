"""What the text of CREATE INDEX says of its keys, and that of a write of the columns that it assigns."""

from __future__ import annotations

from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parser import UnreadableError, only_statement, printed
from pgclinic.sql.quoting import identifier

_DESCENDING, _FIRST, _LAST = "SORTBY_DESC", "SORTBY_NULLS_FIRST", "SORTBY_NULLS_LAST"


def index_keys(create: str) -> tuple[str, ...] | None:
    """Each key with its operator class and order, where they are not the default; None for what is no CREATE INDEX."""
    try:
        statement = only_statement(create)
    except UnreadableError:
        return None
    if not isinstance(statement, nodes.IndexStmt):
        return None
    return tuple(_key(one) for one in statement.indexParams)


def assigned_columns(text: str) -> frozenset[str]:
    """The columns that UPDATE, or ON CONFLICT DO UPDATE, assigns; none of what cannot be parsed."""
    try:
        statement: Any = only_statement(text)
    except UnreadableError:
        return frozenset()
    if isinstance(statement, nodes.UpdateStmt):
        targets = statement.targetList
    elif isinstance(statement, nodes.InsertStmt) and statement.onConflictClause is not None:
        targets = statement.onConflictClause.targetList
    else:
        return frozenset()
    return frozenset(one.name for one in targets if isinstance(one, nodes.ResTarget) and one.name)


def columns_named(expressions: tuple[str, ...]) -> frozenset[str]:
    """The columns in keys or conditions of an index. A key is a column with its operator class, or an expression."""
    found: set[str] = set()
    for text in expressions:
        try:
            statement = only_statement(f"create index on t ({text})")
        except UnreadableError:
            statement = None
        if isinstance(statement, nodes.IndexStmt):
            found.update(one.name for one in statement.indexParams if one.name)
            found.update(
                node.fields[-1].sval
                for node in nodes_within(statement)
                if isinstance(node, nodes.ColumnRef) and isinstance(node.fields[-1], nodes.String)
            )
    return frozenset(found)


def _key(one: Any) -> str:
    words = [identifier(one.name) if one.name else f"({printed(one.expr)})"]
    words += [".".join(identifier(part.sval) for part in one.opclass)] if one.opclass else []
    descends = one.ordering == _DESCENDING
    words += ["desc"] if descends else []
    # The default order of nulls is last, and first where the order descends.
    if one.nulls_ordering == _FIRST and not descends:
        words.append("nulls first")
    if one.nulls_ordering == _LAST and descends:
        words.append("nulls last")
    return " ".join(words)
