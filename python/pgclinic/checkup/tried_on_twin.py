"""A change tried on a twin by plans and blocks: every statement is run before and after it, and all is rolled back.

It takes seconds where blocks of trials take minutes, and shows the mechanism: which plans change, and by how much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.checkup.twin_change import TwinChange
from pgclinic.model.twin import Twin
from pgclinic.pg.session import QueryError, Session
from pgclinic.twin.calibrate import CalibratedStatement, rendered
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.plans import plan_shape
from pgclinic.twin.values import ValueSource

#: Values change from call to call; so many of each statement.
DRAWS = 4
_INDEX_NAME = re.compile(r"\bindex\s+(?:if\s+not\s+exists\s+)?(?!on\b)(\"(?:[^\"]|\"\")+\"|[\w$]+)", re.IGNORECASE)


@dataclass(frozen=True)
class StatementTried:
    """One statement without and with the change: blocks per call, and the shape of its plan. ``calls`` is a weight."""

    query_id: int
    text: str
    calls: int
    blocks: float
    blocks_after: float
    plan: str
    plan_after: str

    @property
    def saved(self) -> float:
        """Blocks of all its calls."""
        return self.calls * (self.blocks - self.blocks_after)


@dataclass(frozen=True)
class ChangeTried:
    change: TwinChange
    statements: tuple[StatementTried, ...]

    @property
    def saved_share(self) -> float:
        """Of the blocks of all statements, each as often as it is called; below 0 if there are more."""
        whole = sum(one.calls * one.blocks for one in self.statements)
        return sum(one.saved for one in self.statements) / whole if whole else 0.0

    @property
    def uses_index(self) -> bool:
        """Whether a plan has an index that the change creates."""
        names = [match[1].strip('"') for one in self.change.statements if (match := _INDEX_NAME.search(_plain(one)))]
        return any(f" {name}" in one.plan_after for one in self.statements for name in names)

    @property
    def changed(self) -> tuple[StatementTried, ...]:
        """Statements with another plan, those that save most first."""
        found = [one for one in self.statements if one.plan != one.plan_after]
        return tuple(sorted(found, key=lambda one: -abs(one.saved)))


class ChangeTrial:
    """Tries changes in a session on the twin's own rows. The values of the statements are the same for all changes."""

    def __init__(self, session: Session, twin: Twin, statements: Sequence[CalibratedStatement]) -> None:
        self._session = session
        source = ValueSource(session, twin)
        self._texts = {one.statement.counted.query_id: tuple(_texts(source, one)) for one in statements}
        self._counted = {one.statement.counted.query_id: one.statement.counted for one in statements}
        self._before: dict[int, tuple[float, str]] | None = None

    def tried(self, change: TwinChange) -> ChangeTried:
        """Raises QueryError where the change itself is refused, or the connection is lost."""
        if self._before is None:
            self._before = self._all(())
        after = self._all(change.in_transaction)
        both = [(key, *self._before[key], *after[key]) for key in self._before if key in after]
        return ChangeTried(
            change=change,
            statements=tuple(
                StatementTried(
                    query_id=key,
                    text=self._counted[key].text,
                    calls=self._counted[key].calls,
                    blocks=blocks,
                    blocks_after=blocks_after,
                    plan=plan,
                    plan_after=plan_after,
                )
                for key, blocks, plan, blocks_after, plan_after in both
            ),
        )

    def _all(self, change: Sequence[str]) -> dict[int, tuple[float, str]]:
        self._session.execute("begin")
        try:
            for one in change:
                self._session.execute(one)
            return {key: seen for key, texts in self._texts.items() if (seen := self._seen(texts)) is not None}
        finally:
            self._session.execute("rollback")

    def _seen(self, texts: Sequence[str]) -> tuple[float, str] | None:
        """Mean blocks and the last plan; None for a statement that the server refuses now."""
        blocks, shape = [], ""
        for text in texts:
            self._session.execute("savepoint tried")
            try:
                (plan,) = self._session.row(f"explain (analyze, buffers, timing off, summary off, format json) {text}")
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                return None
            finally:
                self._session.execute("rollback to savepoint tried")
            top = plan[0]["Plan"]
            blocks.append(float(top.get("Shared Hit Blocks", 0) + top.get("Shared Read Blocks", 0)))
            shape = plan_shape(top)
        return (sum(blocks) / len(blocks), shape) if blocks else None


def _texts(source: ValueSource, one: CalibratedStatement) -> Iterator[str]:
    try:
        drawn = source.draw(one.statement, one.tried.choice, DRAWS)
    except CannotRun:
        return
    for number, values in enumerate(drawn):
        # All is rolled back, so the same fresh keys serve every change.
        yield rendered(one.statement.typed, values, one.keys, number + 1)


def _plain(statement: str) -> str:
    """Without CONCURRENTLY, which stands where the name would."""
    return re.sub(r"\bconcurrently\b", "", statement, flags=re.IGNORECASE)
