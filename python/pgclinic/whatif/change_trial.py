"""A change tried on a twin by plans and buffers: every statement is run before and after it, and all is rolled back.

It takes seconds where blocks of trials take minutes, and shows the mechanism: which plans change, and by how much.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pgclinic.model.plan_proof import PlanProof, StatementByPlan
from pgclinic.model.query_plan import PlanSource, QueryPlan
from pgclinic.model.rewrite import OpenBecause, RewriteCheck, RewriteWord
from pgclinic.model.twin import Twin
from pgclinic.pg.query_plan import nodes_of_json
from pgclinic.pg.session import QueryError, Session
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.execution import rendered
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.plans import plan_shape
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.explained import DRAWS, LONG_S, Executed, buffers_visited, executed, explained
from pgclinic.whatif.index_reach import IndexReach
from pgclinic.whatif.kept_plans import plans_kept
from pgclinic.whatif.page_trial import check_page
from pgclinic.whatif.plan_word import plan_proof
from pgclinic.whatif.twin_change import TwinChange

_CANCELED = "57014"
#: What takes no longer is executed twice with each set of values.
_REPEATED_MS = 100.0


@dataclass(frozen=True)
class _Seen:
    """One statement under one state of the database, per call; counts are None where it was only planned."""

    shape: str
    nodes: tuple[str, ...]
    plan: Mapping[str, Any]
    buffers: float | None = None
    rows: float | None = None
    wal_bytes: float | None = None
    time_ms: float | None = None
    has_triggers: bool = False

    @property
    def is_write(self) -> bool:
        return self.nodes[0] == "ModifyTable"


class ChangeTrial:
    """Tries changes in a session on the twin's own rows. The values of the statements are the same for all changes.

    ``time_shares`` are the statements' shares of the original's time by query id.
    """

    def __init__(
        self,
        session: Session,
        twin: Twin,
        statements: Sequence[CalibratedStatement],
        time_shares: Mapping[int, float],
        source: ValueSource | None = None,
    ) -> None:
        self._session = session
        self._time_shares = time_shares
        self._source = source or ValueSource(session, twin)
        self._statements = {statement.statement.counted.query_id: statement for statement in statements}
        self._texts = {key: tuple(texts_of(self._source, one)) for key, one in self._statements.items()}
        self._named = {
            statement.statement.counted.query_id: statement.statement.counted.text for statement in statements
        }
        self._before: dict[int, _Seen] | None = None
        self._reach = IndexReach(session)

    def tried(self, change: TwinChange, should_stop: Callable[[], bool] = lambda: False) -> PlanProof | None:
        """None where ``should_stop`` ended it. Raises QueryError: the change is refused, or the connection is lost."""
        before = self._as_it_is(should_stop)
        after = self._changed(change, before, should_stop) if before is not None else None
        if before is None or after is None:
            return None
        both = [(key, before[key], after[key]) for key in before if key in after]
        return plan_proof([self._compared(*one) for one in both], draws=DRAWS)

    def plans(self, should_stop: Callable[[], bool] = lambda: False) -> tuple[QueryPlan, ...]:
        """The plan of each statement without any change; none where ``should_stop`` ended it. Raises QueryError."""
        before = self._as_it_is(should_stop) or {}
        return tuple(
            QueryPlan(source=PlanSource.TWIN, nodes=nodes_of_json(seen.plan), query_id=key)
            for key, seen in before.items()
        )

    def page(self, query_id: int, unique: Sequence[str], should_stop: Callable[[], bool]) -> RewriteCheck:
        """Whether the statement that asks for the next page by its keys gives the rows of the one with OFFSET.

        Raises QueryError: the connection is lost.
        """
        found = self._statements.get(query_id)
        if found is None:
            return RewriteCheck(word=RewriteWord.OPEN, because=OpenBecause.VALUES)
        return check_page(self._session, self._source, found, unique, should_stop)

    def _as_it_is(self, should_stop: Callable[[], bool]) -> dict[int, _Seen] | None:
        if self._before is None:
            self._before = self._all((), should_stop)
        return self._before

    def _changed(
        self, change: TwinChange, before: Mapping[int, _Seen], should_stop: Callable[[], bool]
    ) -> dict[int, _Seen] | None:
        """All statements with the change. What it cannot reach is as it was: only settings can change that, and of a
        write no more than its plan."""
        if not change.only_indexes:
            return self._all(change.in_transaction, should_stop)
        self._reach.look()
        out_of_reach: dict[int, _Seen] = {}

        def look() -> None:
            tables = self._reach.tables()
            out_of_reach.update(
                (key, seen)
                for key, seen in before.items()
                if not self._reach.can_reach(tables, self._named[key], seen.plan, has_triggers=seen.has_triggers)
            )

        if not change.settings:
            return self._all(change.in_transaction, should_stop, look, out_of_reach)
        after = self._all(change.in_transaction, should_stop, look)
        if after is None:
            return None
        same = {
            key: seen
            for key, seen in out_of_reach.items()
            if key in after and seen.is_write and seen.shape == after[key].shape
        }
        return after | same

    def _compared(self, key: int, before: _Seen, after: _Seen) -> StatementByPlan:
        have, get = Counter(before.nodes), Counter(after.nodes)
        counted = before.buffers is not None and after.buffers is not None
        nodes, nodes_after = plans_kept(before.plan, after.plan) if before.shape != after.shape else ((), ())
        return StatementByPlan(
            query_id=key,
            text=self._named[key],
            time_share=self._time_shares.get(key, 0.0),
            plan=before.shape,
            plan_after=after.shape,
            buffers=before.buffers if counted else None,
            buffers_after=after.buffers if counted else None,
            rows=before.rows if counted else None,
            rows_after=after.rows if counted else None,
            wal_bytes=before.wal_bytes if counted else None,
            wal_bytes_after=after.wal_bytes if counted else None,
            time_ms=before.time_ms if counted else None,
            time_ms_after=after.time_ms if counted else None,
            nodes_gone=tuple((have - get).elements()),
            nodes_new=tuple((get - have).elements()),
            nodes=nodes,
            nodes_after=nodes_after,
        )

    def _all(
        self,
        change: Sequence[str],
        should_stop: Callable[[], bool],
        on_changed: Callable[[], None] = lambda: None,
        known: Mapping[int, _Seen] = MappingProxyType({}),
    ) -> dict[int, _Seen] | None:
        """``on_changed`` is called when the change is made; what is ``known`` then is not run."""
        found: dict[int, _Seen] = {}
        self._session.execute("begin")
        try:
            for statement in change:
                self._session.execute(statement)
            on_changed()
            for key, texts in self._texts.items():
                if should_stop():
                    return None
                seen = known[key] if key in known else self._seen(texts)
                if seen is not None:
                    found[key] = seen
        finally:
            self._session.execute("rollback")
        return found

    def _seen(self, texts: Sequence[str]) -> _Seen | None:
        """Means over the values, and the plan of the last ones; None for a statement that the server refuses now."""
        counted: list[Executed] = []
        for text in texts:
            began_s = time.monotonic()
            try:
                counted.append(self._executed(text))
            except QueryError as error:
                return self._planned(text) if error.sqlstate == _CANCELED else None
            if time.monotonic() - began_s > LONG_S:
                break
        if not counted:
            return None
        tops = [one.top for one in counted]
        return _Seen(
            shape=plan_shape(tops[-1]),
            nodes=tuple(_nodes(tops[-1])),
            plan=tops[-1],
            buffers=_mean([buffers_visited(top) for top in tops]),
            rows=_mean([_rows(top) for top in tops]),
            wal_bytes=_mean([float(top.get("WAL Bytes", 0)) for top in tops]),
            time_ms=_mean([one.time_ms for one in counted]),
            has_triggers=any(one.has_triggers for one in counted),
        )

    def _executed(self, text: str) -> Executed:
        """With the counts of the first execution, and the shortest time: the first may wait for the disk, and any may
        be interrupted by another process."""
        first = executed(self._session, text)
        if first.time_ms > _REPEATED_MS:
            return first
        again = executed(self._session, text)
        return replace(first, time_ms=min(first.time_ms, again.time_ms))

    def _planned(self, text: str) -> _Seen | None:
        try:
            plan = explained(self._session, "format json", text)
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return None
        return _Seen(shape=plan_shape(plan), nodes=tuple(_nodes(plan)), plan=plan)


def _rows(top: Mapping[str, Any]) -> float:
    return float(top.get("Actual Rows", 0)) * float(top.get("Actual Loops", 1))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _nodes(plan: Mapping[str, Any]) -> Iterator[str]:
    """What EXPLAIN calls the nodes: ``Parallel Seq Scan``, ``Index Scan``."""
    yield ("Parallel " if plan.get("Parallel Aware") else "") + str(plan["Node Type"])
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def texts_of(source: ValueSource, calibrated: CalibratedStatement) -> Iterator[str]:
    """The statement with each of some sets of values in its places; none where there are no values."""
    try:
        drawn = source.draw(calibrated.statement, calibrated.tried.choice, DRAWS)
    except CannotRun:
        return
    for number, values in enumerate(drawn):
        # All is rolled back, so the same fresh keys serve every change.
        yield rendered(calibrated.statement.typed, values, calibrated.keys, number + 1)
