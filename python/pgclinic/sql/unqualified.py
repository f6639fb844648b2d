"""An expression of a statement as an index of its table has it: columns by their names alone."""

from __future__ import annotations

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parser import UnreadableError, parsed_expression, printed


def without_aliases(expression: str) -> str | None:
    """``lower(c.email)`` is lower(email). None for what cannot be parsed, or has a parameter or a query in it."""
    try:
        value = parsed_expression(expression)
    except UnreadableError:
        return None
    for node in nodes_within(value):
        if isinstance(node, nodes.ParamRef | nodes.SubLink):
            return None
        if isinstance(node, nodes.ColumnRef):
            node.fields = (node.fields[-1],)
    return printed(value)
