"""Statements on a twin of one size, with values of that size: buffers, time, rows and plan of each execution."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.grow import Execution, StatementAtSize
from pgclinic.model.twin import Twin
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.trial.server import template_of
from pgclinic.trial.warm_buffers import warm_buffers
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.choice import Choice
from pgclinic.twin.execution import rendered
from pgclinic.twin.fresh_keys import FreshKey, fresh_keys, wants_new_rows
from pgclinic.twin.parameters import CannotRun, OmissionReason, table_named
from pgclinic.twin.plain_values import Values
from pgclinic.twin.plans import plan_shape
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.explained import Executed, buffers_visited, executed

#: So many sets of values, at least the second number of them.
DRAWS, DRAWS_MIN = 16, 2
#: What takes no longer is executed so often with each of them; the shortest time counts.
_REPEATED_MS, _REPEATS = 100.0, 3
_CANCELED = "57014"
#: Images of whole pages would hide what a statement itself writes, and a VACUUM would take the machine.
_MEASURED_WITH = {"full_page_writes": "off", "autovacuum": "off"}


@contextmanager
def measuring_session(
    binaries: Binaries, dataset: TwinDataset, settings: Mapping[str, str], timeout_s: float
) -> Iterator[Session]:
    """A session of the twin's author on a server of its own with warm buffers. Raises RunFailedError, QueryError."""
    template = template_of(binaries, dataset)
    with start_server(binaries, settings={**settings, **_MEASURED_WITH}, template=template) as running:
        warm_buffers(Access(running.server))
        access = Access(running.server, running.secrets, author=AUTHOR)
        with Session(
            access.of_author,
            statement_timeout_ms=round(timeout_s * 1000),
            application_name="pgclinic-grow",
            users_search_path=True,
        ) as session:
            yield session


def relation_bytes(session: Session) -> dict[str, tuple[str, bool, int]]:
    """By the qualified name of each table and index: its table, whether it is an index, and its bytes."""
    with session.catalog_only():
        rows = session.rows(query("grown_relations", session.version_num // 10_000))
    return {str(name): (str(table), bool(is_index), int(size)) for name, table, is_index, size in rows}


def keys_here(session: Session, twin: Twin, one: CalibratedStatement) -> tuple[FreshKey, ...]:
    """The fresh keys of an INSERT behind those that the rows of this twin have. Raises CannotRun, QueryError."""
    typed = one.statement.typed
    if typed.target is None or typed.verb != "insert":
        return ()
    if not wants_new_rows(typed, one.statement.counted.rows_per_call):
        return ()
    return fresh_keys(session, typed, table_named(twin, typed.target))


class StatementTrial:
    """Executes statements on one twin; everything is rolled back."""

    def __init__(self, session: Session, twin: Twin) -> None:
        self._session = session
        self._twin = twin
        self._source = ValueSource(session, twin)

    def at_size(
        self, size: float, one: CalibratedStatement, choice: Choice, *, limit_s: float, should_stop: Callable[[], bool]
    ) -> StatementAtSize:
        """One statement with values of this twin, for about ``limit_s``. Raises CannotRun where none can be executed,
        QueryError when the connection is lost."""
        try:
            keys = keys_here(self._session, self._twin, one)
            drawn = self._source.draw(one.statement, choice, DRAWS)
        except QueryError as error:
            raise _refused(error) from error
        began_s = time.monotonic()
        found: list[Execution] = []
        plans: Counter[str] = Counter()
        relations: set[str] = set()
        refused: QueryError | None = None
        is_cut = False
        for number, values in enumerate(drawn):
            if len(found) >= DRAWS_MIN and (time.monotonic() - began_s > limit_s or should_stop()):
                break
            try:
                execution, top = self._with_values(one, values, keys, number + 1)
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                refused = error
                is_cut = is_cut or error.sqlstate == _CANCELED
                if is_cut:
                    break
                continue
            found.append(execution)
            plans[plan_shape(top)] += 1
            relations.update(_relations(top))
        if not found:
            raise _refused(refused) if refused is not None else CannotRun(OmissionReason.VALUE)
        return StatementAtSize(
            size=size,
            plan=plans.most_common(1)[0][0],
            executions=tuple(found),
            relations=tuple(sorted(relations)),
            is_cut=is_cut,
        )

    def _with_values(
        self, one: CalibratedStatement, values: Values, keys: tuple[FreshKey, ...], number: int
    ) -> tuple[Execution, Mapping[str, Any]]:
        """Buffers of the first execution, and the shortest time: any may be interrupted by another process."""
        text = rendered(one.statement.typed, values, keys, number)
        self._session.execute("begin")
        try:
            for statement in self._source.room_for(one.statement, values):
                self._session.execute(statement)
            first = executed(self._session, text)
            times = [first.time_ms]
            while len(times) < _REPEATS and first.time_ms <= _REPEATED_MS:
                times.append(executed(self._session, text).time_ms)
        finally:
            self._session.execute("rollback")
        return Execution(buffers=buffers_visited(first.top), time_ms=min(times), rows=_rows(first)), first.top


def _refused(error: QueryError) -> CannotRun:
    if error.sqlstate is None:
        raise error
    reason = OmissionReason.TIME if error.sqlstate == _CANCELED else OmissionReason.ERROR
    return CannotRun(reason, error.message.splitlines()[0])


def _rows(one: Executed) -> float:
    return float(one.top.get("Actual Rows", 0)) * float(one.top.get("Actual Loops", 1))


def _relations(node: Mapping[str, Any]) -> Iterator[str]:
    """Names, without schemas, of the tables and indexes that a plan reads or changes."""
    for key in ("Relation Name", "Index Name"):
        if key in node:
            yield str(node[key])
    for below in node.get("Plans", ()):
        yield from _relations(below)
