"""One execution of a statement with literals in its places, and what it did; it is rolled back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgclinic.model.record import Record
from pgclinic.pg.session import Session
from pgclinic.sql.quoting import literal
from pgclinic.sql.statement_places import TypedStatement
from pgclinic.twin.fresh_keys import FreshKey
from pgclinic.twin.plain_values import Values

_PLACE = re.compile(r"\$(\d+)")
_VARIABLE = re.compile(r":n_(spread|wide|number)")


def rendered(typed: TypedStatement, values: Values, keys: Iterable[FreshKey] = (), counter: int = 0) -> str:
    """The statement with literals in its places; ``counter`` makes the fresh keys."""
    fresh = {key.number: key for key in keys}
    variables = {"spread": f"{counter % 1_000_000:06d}", "wide": f"{counter:012d}", "number": str(counter)}

    def filled(match: re.Match[str]) -> str:
        number = int(match[1])
        if number in fresh:
            return _VARIABLE.sub(lambda variable: variables[variable[1]], fresh[number].literal("n"))
        value = values[number]
        if isinstance(value, tuple):
            return ", ".join(_constant(one) for one in value)
        return _constant(value)

    return _PLACE.sub(filled, typed.text)


def _constant(value: str | None) -> str:
    return "NULL" if value is None else literal(value)


class Execution(Record):
    """What one execution did; ``indexes`` are the names, without schemas, of those that its plan uses. ``temp_blocks``
    were written to temporary files or read from them."""

    rows: float
    blocks: float
    indexes: frozenset[str]
    temp_blocks: float = 0.0


def planned_rows(session: Session, text: str) -> float:
    """How many rows a statement would change, as the planner sees it. Raises QueryError."""
    (plan,) = session.row(f"explain (format json) {text}")
    top = plan[0]["Plan"]
    below = [node for node in top.get("Plans", ()) if node.get("Parent Relationship") == "Outer"]
    return float((below[0] if below else top).get("Plan Rows", 0))


def executed(session: Session, text: str, before: Iterable[str] = ()) -> Execution:
    """One execution, which is rolled back with the statements ``before`` it. Raises QueryError."""
    session.execute("begin")
    try:
        for statement in before:
            session.execute(statement)
        (plan,) = session.row(f"explain (analyze, buffers, timing off, summary off, format json) {text}")
    finally:
        session.execute("rollback")
    top = plan[0]["Plan"]
    counted = top
    if top["Node Type"] == "ModifyTable" and not top["Actual Rows"]:
        # Not those of a query that is evaluated before.
        counted = next((one for one in top.get("Plans", ()) if one.get("Parent Relationship") == "Outer"), top)
    return Execution(
        rows=float(counted["Actual Rows"]) * float(counted.get("Actual Loops", 1)),
        blocks=float(top.get("Shared Hit Blocks", 0) + top.get("Shared Read Blocks", 0)),
        indexes=frozenset(_indexes(top)),
        temp_blocks=float(top.get("Temp Read Blocks", 0) + top.get("Temp Written Blocks", 0)),
    )


def _indexes(node: dict[str, Any]) -> Iterator[str]:
    if "Index Name" in node:
        yield str(node["Index Name"])
    for below in node.get("Plans", ()):
        yield from _indexes(below)
