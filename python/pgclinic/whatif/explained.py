"""EXPLAIN of one statement within a transaction that goes on, whatever the server says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgclinic.pg.session import Session

#: Values change from call to call; so many of each statement.
DRAWS = 4
#: A statement whose first execution takes longer than this is executed with one set of values.
LONG_S = 0.5
#: What makes EXPLAIN run the statement and count.
_COUNTED = "analyze, buffers, wal, timing off, summary on, format json"
_VISITED = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks", "Temp Written Blocks")


@dataclass(frozen=True)
class Executed:
    """The node at the top of the plan, and the time of the executor in ms: no planning, no client.

    ``has_triggers`` says that triggers of the database ran, those of constraints left out.
    """

    top: Mapping[str, Any]
    time_ms: float
    has_triggers: bool = False


def executed(session: Session, text: str) -> Executed:
    """The statement is run, and what it did is rolled back. Raises QueryError."""
    answer = _answer(session, _COUNTED, text)
    return Executed(
        top=answer["Plan"],
        time_ms=float(answer["Execution Time"]),
        has_triggers=any("Constraint Name" not in trigger for trigger in answer.get("Triggers", ())),
    )


def explained(session: Session, options: str, text: str) -> dict[str, Any]:
    """The node at the top of the plan; what the statement did is rolled back. Raises QueryError."""
    top: dict[str, Any] = _answer(session, options, text)["Plan"]
    return top


def _answer(session: Session, options: str, text: str) -> dict[str, Any]:
    session.execute("savepoint tried")
    try:
        (plan,) = session.row(f"explain ({options}) {text}")
    finally:
        session.execute("rollback to savepoint tried")
    answer: dict[str, Any] = plan[0]
    return answer


def buffers_visited(top: Mapping[str, Any]) -> float:
    """Buffers of the statement, those of temporary files among them."""
    return sum(float(top.get(name, 0)) for name in _VISITED)
