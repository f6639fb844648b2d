"""Indexes tried on a twin: all of a batch are built in one transaction, and each subset is what is left when a
savepoint has dropped the others. Everything is rolled back.

What costs time is to build and to execute. So an index is built once, however many sets it is tried in, and a read is
executed only where its plan is one that was not executed before. Writes are executed for each set: rows that were
rolled back make them slower from one to the next, so they are compared with what comes before and behind.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pgclinic.indexes.definition import create_statement, qualified_name
from pgclinic.model.advise import IndexDefinition
from pgclinic.model.query_plan import PlanNode
from pgclinic.pg.query_files import query
from pgclinic.pg.query_plan import nodes_of_json
from pgclinic.pg.session import QueryError, Session
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.plans import plan_shape
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.change_trial import texts_of
from pgclinic.whatif.explained import LONG_S, Executed, buffers_visited, executed, explained
from pgclinic.whatif.index_reach import IndexReach
from pgclinic.whatif.trial_session import TIMEOUT_MS

_CANCELED = "57014"
#: Statements that take no longer are executed several times with each set of values; writes, which differ little, more.
_REPEATED_MS = 50.0
_READS, _WRITES = 2, 4
#: Building an index may take longer than a statement of the workload may.
_BUILD_TIMEOUT_MS = 300_000


@dataclass(frozen=True)
class SeenStatement:
    """One statement under one set of indexes, the least of each figure by set of values: the executor's time in ms,
    buffers, bytes of WAL. A write has the bare name of its table as ``target``. ``used`` are the bare names of the
    indexes in its plans. Of one that was ``canceled`` the times are lower bounds."""

    shape: str
    signature: tuple[str, ...]
    used: frozenset[str]
    target: str | None
    times_ms: tuple[float, ...]
    buffers: tuple[float, ...] = ()
    wal_bytes: tuple[float, ...] = ()
    has_triggers: bool = False
    canceled: bool = False

    @property
    def is_write(self) -> bool:
        return self.target is not None


@dataclass(frozen=True)
class BuiltIndex:
    """What an index is on the twin, with the bare names of the ``tables`` that it reaches; it could not be built where
    ``problem`` says why."""

    definition: IndexDefinition
    size_bytes: int = 0
    table_bytes: int = 0
    build_s: float = 0.0
    tables: frozenset[str] = frozenset()
    problem: str | None = None


class IndexTrial:
    """One session on the twin; the values of each statement are the same for all sets of indexes."""

    def __init__(self, session: Session, statements: Sequence[CalibratedStatement], source: ValueSource) -> None:
        self._session = session
        self._major = session.version_num // 10_000
        self._texts = {one.statement.counted.query_id: tuple(texts_of(source, one)) for one in statements}
        self._named = {one.statement.counted.query_id: one.statement.counted.text for one in statements}
        self._reach = IndexReach(session)
        self._before: dict[int, SeenStatement] = {}
        self._plans: dict[int, Mapping[str, Any]] = {}
        # The index of a partitioned table that an index in a plan is a part of.
        self._whole: dict[str, str] = {}
        self._known: dict[tuple[int, tuple[str, ...]], SeenStatement] = {}

    def as_it_is(self, should_stop: Callable[[], bool] = lambda: False) -> Mapping[int, SeenStatement]:
        """Every statement by query id, reads first: a write that is rolled back leaves dead rows. Raises QueryError."""
        if not self._before:
            with self._rolled_back():
                reads_first = sorted(self._texts, key=self._is_write)
                for key in reads_first:
                    if should_stop():
                        break
                    seen = self._seen(key, self._texts[key])
                    if seen is not None:
                        self._before[key] = seen
        return self._before

    def plans(self) -> dict[int, tuple[PlanNode, ...]]:
        """The plan of each statement as it is, by query id."""
        return {key: nodes_of_json(self._plans[key]) for key in self.as_it_is()}

    @contextmanager
    def built(self, indexes: Sequence[IndexDefinition]) -> Iterator[BuiltSet]:
        """All of them together, until the block ends. Raises QueryError: the connection is lost."""
        with self._rolled_back():
            self._session.execute(f"set local statement_timeout = {_BUILD_TIMEOUT_MS}")
            made = tuple(self._build(index) for index in indexes)
            self._session.execute(f"set local statement_timeout = {TIMEOUT_MS}")
            self._reach.look()
            yield BuiltSet(self, made)

    def with_indexes(
        self, dropped: Sequence[str], tables: frozenset[str], like: Mapping[int, SeenStatement]
    ) -> dict[int, SeenStatement]:
        """Every statement while the qualified indexes ``dropped`` are not there; those that neither this nor a change
        to ``tables`` reaches are as they are in ``like``. For BuiltSet. Raises QueryError."""
        before = self.as_it_is()
        found: dict[int, SeenStatement] = {}
        self._session.execute("savepoint indexes")
        try:
            for name in dropped:
                self._session.execute(f"drop index {name}")
            reached = tables | self._reach.tables()
            for key, seen in before.items():
                found[key] = like.get(key, seen)
                if self._reach.can_reach(reached, self._named[key], self._plans[key], has_triggers=seen.has_triggers):
                    found[key] = self._seen(key, self._texts[key][: len(seen.times_ms)]) or seen
        finally:
            self._session.execute("rollback to savepoint indexes")
        return found

    def used_by(self, dropped: Sequence[str], tables: frozenset[str]) -> frozenset[str]:
        """The bare names of the indexes that any plan uses while these are not there. For BuiltSet. Raises
        QueryError."""
        used: set[str] = set()
        self._session.execute("savepoint indexes")
        try:
            for name in dropped:
                self._session.execute(f"drop index {name}")
            tables |= self._reach.tables()
            for key, seen in self.as_it_is().items():
                if self._reach.can_reach(tables, self._named[key], self._plans[key], has_triggers=seen.has_triggers):
                    plans = self._planned(self._texts[key][: len(seen.times_ms)]) or ()
                    used.update(name for plan in plans for name in self._indexes(plan))
        finally:
            self._session.execute("rollback to savepoint indexes")
        return frozenset(used)

    def _indexes(self, plan: Mapping[str, Any]) -> Iterator[str]:
        """The bare names of its indexes, that of a partitioned table's for one that is a part of it."""
        if "Index Name" in plan:
            yield self._whole.get(str(plan["Index Name"]), str(plan["Index Name"]))
        for below in plan.get("Plans", ()):
            yield from self._indexes(below)

    def _build(self, index: IndexDefinition) -> BuiltIndex:
        self._session.execute("savepoint built")
        self._reach.look()
        began_s = time.monotonic()
        try:
            self._session.execute(create_statement(index, concurrently=False))
        except QueryError as error:
            if error.sqlstate is None:
                raise
            self._session.execute("rollback to savepoint built")
            return BuiltIndex(index, problem=error.message)
        build_s = time.monotonic() - began_s
        size, table = self._session.row(query("index_sizes", self._major), {"name": qualified_name(index)})
        if index.is_partitioned:
            parts = self._session.rows(query("index_parts", self._major), {"name": qualified_name(index)})
            self._whole.update((str(name), index.name) for (name,) in parts)
        return BuiltIndex(index, int(size), int(table), build_s, self._reach.tables())

    def _is_write(self, key: int) -> bool:
        """By its first set of values; what cannot be planned is no read."""
        for text in self._texts[key][:1]:
            try:
                return _target(explained(self._session, "format json", text)) is not None
            except QueryError as error:
                if error.sqlstate is None:
                    raise
        return True

    def _seen(self, key: int, texts: Sequence[str]) -> SeenStatement | None:
        """None for a statement that the server refuses, or that has no values."""
        plans = self._planned(texts)
        if not plans:
            return None
        is_write = _target(plans[0]) is not None
        signature = tuple(json.dumps(plan, sort_keys=True) for plan in plans)
        before = self._before.get(key)
        # Triggers may do what no plan shows.
        by_plan = not is_write and not (before is not None and before.has_triggers)
        known = self._known.get((key, signature)) if by_plan else None
        if known is not None:
            return known
        counted = self._counted(texts, _WRITES if is_write else _READS)
        if counted is None:
            return None
        used = frozenset(name for plan in plans for name in self._indexes(plan))
        seen = _summed(plans, signature, used, counted[0], canceled=counted[1])
        # One set of values may have taken so long that the others were not executed.
        self._known[key, signature] = self._known[key, signature[: len(seen.times_ms)]] = seen
        self._plans.setdefault(key, plans[0])
        return seen

    def _planned(self, texts: Sequence[str]) -> list[dict[str, Any]] | None:
        """The plans with each set of values; None for a statement that the server refuses."""
        try:
            return [explained(self._session, "costs off, format json", text) for text in texts]
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return None

    def _counted(self, texts: Sequence[str], times: int) -> tuple[list[list[Executed]], bool] | None:
        """Some executions for each text, and whether one was canceled."""
        counted: list[list[Executed]] = []
        for text in texts:
            began_s = time.monotonic()
            try:
                counted.append(self._repeated(text, times))
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                return (counted, True) if error.sqlstate == _CANCELED else None
            if time.monotonic() - began_s > LONG_S:
                break
        return counted, False

    def _repeated(self, text: str, times: int) -> list[Executed]:
        """Some executions; a long one is not repeated."""
        seen = [executed(self._session, text)]
        while len(seen) < times and seen[-1].time_ms <= _REPEATED_MS:
            seen.append(executed(self._session, text))
        return seen

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        self._session.execute("begin")
        try:
            yield
        finally:
            self._session.execute("rollback")


class BuiltSet:
    """Indexes that are there as long as the transaction lasts. Raises QueryError everywhere."""

    def __init__(self, trial: IndexTrial, made: Sequence[BuiltIndex]) -> None:
        self._trial = trial
        self._tables = frozenset(name for one in made for name in one.tables)
        self.made = {one.definition: one for one in made if one.problem is None}
        self.refused = tuple(one for one in made if one.problem is not None)

    def seen(
        self,
        kept: Sequence[IndexDefinition] | None = None,
        without: Sequence[str] = (),
        like: Mapping[int, SeenStatement] | None = None,
    ) -> dict[int, SeenStatement]:
        """Every statement with those ``kept``, None for all of them, and without these qualified existing ones.

        ``like`` is what was seen with all of them: a statement that what is missing cannot reach is as it is there.
        """
        there = frozenset(self.made if kept is None else kept) & self.made.keys()
        dropped = [qualified_name(one) for one in self.made if one not in there]
        if like is not None:
            return self._trial.with_indexes([*dropped, *without], frozenset(), like)
        return self._trial.with_indexes([*dropped, *without], self._tables, self._trial.as_it_is())

    def used(self, kept: Sequence[IndexDefinition]) -> frozenset[IndexDefinition]:
        """Those of them that any plan uses; nothing is executed."""
        dropped = [qualified_name(one) for one in self.made if one not in kept]
        names = self._trial.used_by(dropped, self._tables)
        return frozenset(one for one in kept if one in self.made and one.name in names)


def _summed(
    plans: Sequence[Mapping[str, Any]],
    signature: tuple[str, ...],
    used: frozenset[str],
    counted: Sequence[Sequence[Executed]],
    *,
    canceled: bool,
) -> SeenStatement:
    times_ms = [min(one.time_ms for one in those) for those in counted]
    if canceled:
        times_ms.append(float(TIMEOUT_MS))
    return SeenStatement(
        shape=plan_shape(plans[-1]),
        signature=signature,
        used=used,
        target=_target(plans[0]),
        times_ms=tuple(times_ms),
        buffers=tuple(min(buffers_visited(one.top) for one in those) for those in counted),
        wal_bytes=tuple(min(float(one.top.get("WAL Bytes", 0)) for one in those) for those in counted),
        has_triggers=any(one.has_triggers for those in counted for one in those),
        canceled=canceled,
    )


def _target(plan: Mapping[str, Any]) -> str | None:
    """The bare name of the table that a write changes; None for a read."""
    return str(plan.get("Relation Name", "")) if plan["Node Type"] == "ModifyTable" else None
