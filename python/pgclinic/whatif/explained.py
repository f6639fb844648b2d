"""EXPLAIN of one statement within a transaction that goes on, whatever the server says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgclinic.pg.session import Session

#: Values change from call to call; so many of each statement.
DRAWS = 4
#: A statement whose first execution takes longer than this is executed with one set of values.
LONG_S = 0.5
#: What makes EXPLAIN run the statement and count.
COUNTED = "analyze, buffers, wal, timing off, summary off, format json"
_VISITED = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks", "Temp Written Blocks")


def explained(session: Session, options: str, text: str) -> dict[str, Any]:
    """The node at the top of the plan; what the statement did is rolled back. Raises QueryError."""
    session.execute("savepoint tried")
    try:
        (plan,) = session.row(f"explain ({options}) {text}")
    finally:
        session.execute("rollback to savepoint tried")
    top: dict[str, Any] = plan[0]["Plan"]
    return top


def buffers_visited(top: Mapping[str, Any]) -> float:
    """Buffers of the statement, those of temporary files among them."""
    return sum(float(top.get(name, 0)) for name in _VISITED)
