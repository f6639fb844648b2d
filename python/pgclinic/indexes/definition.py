"""Statements that create and drop an index. Pure."""

from __future__ import annotations

from pgclinic.model.advise import IndexDefinition
from pgclinic.sql.quoting import identifier, name_parts, qualified


def create_statement(index: IndexDefinition, *, concurrently: bool) -> str:
    """CREATE INDEX without a semicolon; a partitioned table takes no index concurrently."""
    how = "concurrently " if concurrently and not index.is_partitioned else ""
    method = "" if index.method == "btree" else f"using {index.method} "
    include = f" include ({', '.join(index.include)})" if index.include else ""
    where = f" where {index.predicate}" if index.predicate else ""
    keys = ", ".join(index.keys)
    return f"create index {how}{identifier(index.name)} on {index.table} {method}({keys}){include}{where}"


def drop_statement(index: IndexDefinition, *, concurrently: bool) -> str:
    """DROP INDEX without a semicolon."""
    how = "concurrently " if concurrently and not index.is_partitioned else ""
    return f"drop index {how}{qualified_name(index)}"


def qualified_name(index: IndexDefinition) -> str:
    """An index is in the schema of its table."""
    return qualified(name_parts(index.table)[-2], index.name)
