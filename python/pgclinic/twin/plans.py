"""Query plans of the same statements on the original and on its twin, as shapes: what is joined, scanned and by what.

The original is only asked by EXPLAIN, which plans a statement and does not run it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pgclinic.pg.session import QueryError, Session
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.execution import rendered
from pgclinic.twin.fidelity import PlanComparison
from pgclinic.twin.original_values import OriginalValues
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.plain_values import Values
from pgclinic.twin.values import ValueSource

_DRAWS = 5
_GENERIC_SINCE = 160000
_PLACE = re.compile(r"\$(\d+)")


def plan_shape(plan: Mapping[str, Any]) -> str:
    """One node with its children: ``Nested Loop(Index Scan orders orders_pkey, Seq Scan item)``."""
    parts = [str(plan["Node Type"])]
    if plan.get("Join Type") not in (None, "Inner"):
        parts.append(str(plan["Join Type"]))
    parts += [str(plan[key]) for key in ("Relation Name", "Index Name") if key in plan]
    below = ", ".join(plan_shape(one) for one in plan.get("Plans", ()))
    return " ".join(parts) + (f"({below})" if below else "")


def compared_plans(
    statements: Sequence[CalibratedStatement],
    source: ValueSource,
    twin: Session,
    original: Session,
    values: OriginalValues,
) -> tuple[PlanComparison, ...]:
    """The plans of each statement on both sides. Raises QueryError when a connection is lost."""
    return tuple(_compared(statement, source, twin, original, values) for statement in statements)


def _compared(
    statement: CalibratedStatement, source: ValueSource, twin: Session, original: Session, values: OriginalValues
) -> PlanComparison:
    typed = statement.statement.typed
    try:
        drawn: list[Values] = source.draw(statement.statement, statement.tried.choice, _DRAWS)
    except CannotRun:
        drawn = []
    here = [rendered(typed, one, statement.keys, 1) for one in drawn]
    there = [rendered(typed, values.of(typed.places, one), statement.keys, 1) for one in drawn]
    return PlanComparison(
        query_id=statement.statement.counted.query_id,
        twin=_usual(twin, here),
        original=_usual(original, there),
        twin_generic=_generic(twin, typed.text),
        original_generic=_generic(original, typed.text),
    )


def _usual(session: Session, texts: Sequence[str]) -> str | None:
    """The commonest shape; None where the server plans none of them."""
    shapes = Counter(
        shape for shape in (_explained(session, f"explain (format json) {text}") for text in texts) if shape
    )
    return shapes.most_common(1)[0][0] if shapes else None


def _generic(session: Session, text: str) -> str | None:
    if session.version_num >= _GENERIC_SINCE:
        return _explained(session, f"explain (generic_plan, format json) {text}")
    count = max((int(number) for number in _PLACE.findall(text)), default=0)
    arguments = f"({', '.join(['null'] * count)})" if count else ""
    try:
        session.execute("set plan_cache_mode = force_generic_plan")
        session.execute(f"prepare pgclinic_generic as {text}")
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return None
    try:
        return _explained(session, f"explain (format json) execute pgclinic_generic{arguments}")
    finally:
        session.execute("deallocate pgclinic_generic")
        session.execute("reset plan_cache_mode")


def _explained(session: Session, text: str) -> str | None:
    try:
        (plan,) = session.row(text)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return None
    return plan_shape(plan[0]["Plan"])
