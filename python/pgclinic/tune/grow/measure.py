"""Statements on a twin of one size, with values of that size: buffers, time, rows and plan of each execution."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.grow import MeasuredExecution, StatementAtSize
from pgclinic.model.twin import Twin
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.settings.units import buffers_bytes
from pgclinic.stats.summary import mean, standard_deviation
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

#: At least so many sets of values.
DRAWS_MIN = 2
#: Each is executed so often on every twin.
_ROUNDS = 3
#: So many are enough where they took so long and their means have at most this relative error.
_KNOWN_DRAWS, _KNOWN_S, _KNOWN_ERROR = 4, 2.0, 0.05
_CANCELED = "57014"
_BUFFERS = "shared_buffers"
#: Of the memory of this machine, for the buffers of each twin: up to four run at once.
BUFFERS_SHARE = 0.08
#: Images of whole pages would hide what a statement itself writes, and a VACUUM would take the machine.
_MEASURED_WITH = {"full_page_writes": "off", "autovacuum": "off"}


@contextmanager
def measuring_session(
    binaries: Binaries,
    dataset: TwinDataset,
    settings: Mapping[str, str],
    timeout_s: float,
    on_warm: Callable[[int, float], None] = lambda _buffers, _seconds: None,
) -> Iterator[Session]:
    """A session of the twin's author on a server of its own with warm buffers; ``on_warm`` hears how many were read in
    how many seconds. Raises RunFailedError, QueryError."""
    template = template_of(binaries, dataset)
    with start_server(binaries, settings={**settings, **_MEASURED_WITH}, template=template) as running:
        began_s = time.monotonic()
        on_warm(warm_buffers(Access(running.server)), time.monotonic() - began_s)
        access = Access(running.server, running.secrets, author=AUTHOR)
        with Session(
            access.of_author,
            statement_timeout_ms=round(timeout_s * 1000),
            application_name="pgclinic-grow",
            users_search_path=True,
        ) as session:
            yield session


def fitting_settings(settings: Mapping[str, str], major: int, memory_bytes: float) -> tuple[dict[str, str], str | None]:
    """The settings for a machine of so much memory on which all twins run at once, and what became smaller.

    How many buffers there are decides no plan: effective_cache_size does.
    """
    kept = {name: value for name, value in settings.items() if name != "huge_pages"}
    room = int(BUFFERS_SHARE * memory_bytes)
    have = kept.get(_BUFFERS)
    if have is None or buffers_bytes(have, major) <= room:
        return kept, None
    kept[_BUFFERS] = f"{room // 2**20}MB"
    return kept, f"{_BUFFERS} = {kept[_BUFFERS]} in place of {have}"


def relation_bytes(session: Session) -> dict[str, tuple[str, bool, int]]:
    """By the qualified name of each table and index: its table, whether it is an index, and its bytes."""
    with session.catalog_only():
        rows = session.rows(query("grown_relations", session.version_num // 10_000))
    return {str(name): (str(table), bool(is_index), int(size)) for name, table, is_index, size in rows}


@dataclass(frozen=True)
class Drawn:
    """Sets of values for one statement on one twin, and the fresh keys of an INSERT."""

    values: tuple[Values, ...]
    keys: tuple[FreshKey, ...]


def keys_here(session: Session, twin: Twin, one: CalibratedStatement) -> tuple[FreshKey, ...]:
    """The fresh keys of an INSERT behind those that the rows of this twin have. Raises CannotRun, QueryError."""
    typed = one.statement.typed
    if typed.target is None or typed.verb != "insert":
        return ()
    if not wants_new_rows(typed, one.statement.counted.rows_per_call):
        return ()
    return fresh_keys(session, typed, table_named(twin, typed.target))


@dataclass
class _SeenAtSize:
    """What one statement did on one twin so far. ``problem`` is why it is not executed any more, ``is_cut``
    that it took longer than the statement timeout.

    ``first`` is the first execution with each set of values and its text, ``times_ms`` those of the others of a text.
    """

    first: list[tuple[str, MeasuredExecution]] = field(default_factory=list)
    times_ms: dict[str, list[float]] = field(default_factory=dict)
    plans: Counter[str] = field(default_factory=Counter)
    relations: set[str] = field(default_factory=set)
    problem: CannotRun | None = None
    is_cut: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the means of buffers and times are, or no more will be executed."""
        if self.problem is not None:
            return True
        found = [one for _, one in self.first]
        return all(_error(values) <= _KNOWN_ERROR for values in ([one.buffers for one in found], self._times()))

    def _times(self) -> list[float]:
        return [min(self.times_ms.get(text, [one.time_ms])) for text, one in self.first]

    def at(self, size: float) -> StatementAtSize | CannotRun:
        """Times are the shortest of the same text: any may be interrupted by another process."""
        # Where some values took too long those that did not are the cheap ones: the statement would seem to get faster.
        if self.problem is not None and (not self.first or self.is_cut):
            return self.problem
        if not self.first:
            return CannotRun(OmissionReason.VALUE)
        return StatementAtSize(
            size=size,
            plan=self.plans.most_common(1)[0][0],
            executions=tuple(
                replace(one, time_ms=time_ms) for (_, one), time_ms in zip(self.first, self._times(), strict=True)
            ),
            relations=tuple(sorted(self.relations)),
        )


class SizeTrial:
    """Executes statements on the twin of one size; everything is rolled back."""

    def __init__(self, session: Session, twin: Twin) -> None:
        self.session = session
        self._twin = twin
        self._source = ValueSource(session, twin)

    def drawn(self, one: CalibratedStatement, choice: Choice, count: int) -> Drawn:
        """Values of this twin, and what an INSERT needs. Raises CannotRun, QueryError when the connection is lost."""
        try:
            return Drawn(
                tuple(self._source.draw(one.statement, choice, count)), keys_here(self.session, self._twin, one)
            )
        except QueryError as error:
            raise _refused(error) from error

    def execute(self, one: CalibratedStatement, drawn: Drawn, number: int, seen: _SeenAtSize, *, again: bool) -> None:
        """Execute it with one set of values, and add what it did. Raises QueryError when the connection is lost.

        The first time, pages and catalogs may have to be read; of what is short only the times of ``again`` count.
        """
        text = rendered(one.statement.typed, drawn.values[number], drawn.keys, number + 1)
        try:
            found = self._executed(one, text, drawn.values[number])
        except QueryError as error:
            seen.problem, seen.is_cut = _refused(error), error.sqlstate == _CANCELED
            return
        if again:
            seen.times_ms.setdefault(text, []).append(found.time_ms)
            return
        buffers = buffers_visited(found.top)
        seen.first.append((text, MeasuredExecution(buffers=buffers, time_ms=found.time_ms, rows=_rows(found))))
        seen.plans[plan_shape(found.top)] += 1
        seen.relations.update(_relations(found.top))

    def _executed(self, one: CalibratedStatement, text: str, values: Values) -> Executed:
        self.session.execute("begin")
        try:
            for statement in self._source.room_for(one.statement, values):
                self.session.execute(statement)
            return executed(self.session, text)
        finally:
            self.session.execute("rollback")


def at_sizes(
    trials: Mapping[float, SizeTrial],
    one: CalibratedStatement,
    choices: Mapping[float, Choice],
    draws: int,
    *,
    limit_s: float,
    should_stop: Callable[[], bool],
) -> dict[float, StatementAtSize | CannotRun]:
    """One statement on several twins in turn, with values of each, for about ``limit_s``.

    What else the machine does then meets all sizes alike, and the caches of the processor are no warmer for the small
    ones: between two executions on one twin lie those on the others. The order is turned round each time. Raises
    QueryError when a connection is lost.
    """
    began_s = time.monotonic()
    seen: dict[float, _SeenAtSize] = {size: _SeenAtSize() for size in trials}
    drawn: dict[float, Drawn] = {}
    for size, trial in trials.items():
        try:
            drawn[size] = trial.drawn(one, choices[size], draws)
        except CannotRun as error:
            seen[size].problem = error
    order = sorted(drawn)
    for number in range(draws):
        if number >= DRAWS_MIN and (time.monotonic() - began_s > limit_s or should_stop()):
            break
        for round_ in range(_ROUNDS):
            for size in order if (number + round_) % 2 == 0 else reversed(order):
                if seen[size].problem is None and number < len(drawn[size].values):
                    trials[size].execute(one, drawn[size], number, seen[size], again=round_ > 0)
            if time.monotonic() - began_s > limit_s and number + 1 >= DRAWS_MIN:
                break
        is_long = number + 1 >= _KNOWN_DRAWS and time.monotonic() - began_s > _KNOWN_S
        if is_long and all(one.is_known for one in seen.values()):
            break
    return {size: found.at(size) for size, found in seen.items()}


def _refused(error: QueryError) -> CannotRun:
    if error.sqlstate is None:
        raise error
    return CannotRun(OmissionReason.ERROR, error.message.splitlines()[0])


def _error(values: Sequence[float]) -> float:
    """The standard error of the mean, relative to it; 0 where all are 0."""
    middle = mean(values)
    return standard_deviation(values) / math.sqrt(len(values)) / middle if middle and len(values) > 1 else 0.0


def _rows(one: Executed) -> float:
    return float(one.top.get("Actual Rows", 0)) * float(one.top.get("Actual Loops", 1))


def _relations(node: Mapping[str, Any]) -> Iterator[str]:
    """Names, without schemas, of the tables and indexes that a plan reads or changes."""
    for key in ("Relation Name", "Index Name"):
        if key in node:
            yield str(node[key])
    for below in node.get("Plans", ()):
        yield from _relations(below)
