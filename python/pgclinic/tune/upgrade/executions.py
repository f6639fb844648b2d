"""The same statements with the same values on several servers that take turns: one executes at a time.

Servers that work beside each other would share two cores; servers that work one after the other would meet different
moments of the machine. So every turn executes a statement once on each, and the order of the servers changes from turn
to turn. What a statement does is rolled back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.trial.server import template_of
from pgclinic.trial.warm_buffers import warm_buffers
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.plans import plan_shape
from pgclinic.whatif.explained import buffers_visited

#: A statement that takes longer is stopped.
LIMIT_MS = 10_000
#: VACUUM or ANALYZE of the whole twin.
MAINTENANCE_LIMIT_MS = 60_000
_CANCELED = "57014"
#: Nothing works in the background, and WAL has no images of whole pages: both belong to no statement.
_QUIET = {"autovacuum": "off", "full_page_writes": "off"}
_FIRST = "analyze, buffers, timing off, summary on, format json"
_AGAIN = "analyze, buffers off, timing off, summary on, format json"
_TURNS_MIN, _TURNS_MAX = 4, 18
#: What takes no longer is executed twice in a turn.
_REPEATED_MS = 20.0
#: No more turns once a statement has had so much time on all servers together.
LONG_S = 3.0


@dataclass(frozen=True)
class ValuedStatement:
    """One statement with literals in its places, a text for each set of values. ``time_share`` is 0 to 1.

    What ``writes`` is executed after all that reads: rows that are rolled back stay on their pages.
    """

    query_id: int
    text: str
    time_share: float
    texts: tuple[str, ...]
    writes: bool = False


@dataclass
class ExecutionsSeen:
    """One statement on one server. ``plans`` are the shapes, one for each text; buffers and rows are per call.

    ``first_ms`` is the mean of the first executions, whose buffers may be cold; None where one did not end.
    ``times_ms`` and ``planning_ms`` have the mean over the texts of each turn. ``is_stopped`` is set where an execution
    reached the time limit: there are no times then. ``problem`` is what the server said of a statement it refused.
    """

    plans: tuple[str, ...] = ()
    nodes: frozenset[str] = frozenset()
    uses_jit: bool = False
    buffers: float = 0.0
    rows: float = 0.0
    first_ms: float | None = None
    times_ms: list[float] = field(default_factory=list)
    planning_ms: list[float] = field(default_factory=list)
    is_stopped: bool = False
    problem: str | None = None

    @property
    def runs(self) -> bool:
        return self.problem is None and not self.is_stopped


class Side:
    """One server with the twin's rows, and the session of the twin's author in it."""

    def __init__(self, access: Access, session: Session) -> None:
        self.access = access
        self.session = session

    def vacuum(self) -> None:
        """Remove what was rolled back. No page is given back: an empty end is part of a table. Raises QueryError."""
        self._maintain("vacuum (truncate off)")

    def analyze(self) -> float:
        """Take another sample of every table, and return how long that took in s. Raises QueryError."""
        began_s = time.monotonic()
        self._maintain("analyze")
        return time.monotonic() - began_s

    def _maintain(self, statement: str) -> None:
        """Within a limit of its own; each table commits, so what was reached by then is kept. Raises QueryError."""
        self.session.execute(f"set statement_timeout = {MAINTENANCE_LIMIT_MS}")
        try:
            self.session.execute(statement)
        except QueryError as error:
            if error.sqlstate != _CANCELED:
                raise
        self.session.execute("reset statement_timeout")

    def plan(self, text: str) -> Mapping[str, Any] | None:
        """The plan of a statement that is not executed; None where the server refuses it."""
        try:
            return self._explained("format json", text)["Plan"]  # type: ignore[no-any-return]
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return None

    def shapes(self, statement: ValuedStatement) -> tuple[str, ...]:
        """The shape of the plan for each set of values, without executing; empty where the server refuses it."""
        plans = [self.plan(text) for text in statement.texts]
        return tuple("" if plan is None else plan_shape(plan) for plan in plans)

    def first(self, statement: ValuedStatement, before: Sequence[str] = ()) -> ExecutionsSeen:
        """Plans, buffers and rows, one execution with each set of values, after the settings ``before``."""
        seen = ExecutionsSeen()
        tops: list[Mapping[str, Any]] = []
        times: list[float] = []
        for text in statement.texts:
            try:
                answer = self._explained(_FIRST, text, before)
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                if error.sqlstate != _CANCELED:
                    seen.problem = str(error).splitlines()[0]
                    return seen
                seen.is_stopped = True
                seen.plans = self.shapes(statement)
                return seen
            tops.append(answer["Plan"])
            times.append(float(answer["Execution Time"]))
            seen.uses_jit = seen.uses_jit or "JIT" in answer
        seen.plans = tuple(plan_shape(top) for top in tops)
        seen.nodes = frozenset(node for top in tops for node in _nodes(top))
        seen.first_ms = _mean(times)
        seen.buffers = _mean([buffers_visited(top) for top in tops])
        seen.rows = _mean([float(top.get("Actual Rows", 0)) * float(top.get("Actual Loops", 1)) for top in tops])
        return seen

    def again(self, statement: ValuedStatement, seen: ExecutionsSeen, before: Sequence[str] = ()) -> None:
        """One turn: the times of one execution with each set of values, after the settings ``before``."""
        times, planning = [], []
        for text in statement.texts:
            try:
                answer = self._shortest(text, before)
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                seen.is_stopped = error.sqlstate == _CANCELED
                seen.problem = None if seen.is_stopped else str(error).splitlines()[0]
                return
            times.append(float(answer["Execution Time"]))
            planning.append(float(answer["Planning Time"]))
        seen.times_ms.append(_mean(times))
        seen.planning_ms.append(_mean(planning))

    def _shortest(self, text: str, before: Sequence[str]) -> dict[str, Any]:
        """The shorter of two executions, unless one is long: another process may interrupt any of them."""
        first = self._explained(_AGAIN, text, before)
        if float(first["Execution Time"]) > _REPEATED_MS:
            return first
        again = self._explained(_AGAIN, text, before)
        return min(first, again, key=lambda one: float(one["Execution Time"]))

    def _explained(self, options: str, text: str, before: Sequence[str] = ()) -> dict[str, Any]:
        self.session.execute("begin")
        try:
            for statement in before:
                self.session.execute(statement)
            (plan,) = self.session.row(f"explain ({options}) {text}")
        finally:
            with suppress(QueryError):
                self.session.execute("rollback")
        answer: dict[str, Any] = plan[0]
        return answer


@contextmanager
def sides(
    wanted: Sequence[tuple[Binaries, Mapping[str, str]]],
    dataset: TwinDataset,
    on_stage: Callable[[str], None] = lambda _: None,
    change: Callable[[Access], None] = lambda _: None,
) -> Iterator[tuple[Side, ...]]:
    """A server for each of ``wanted``, with its settings and the twin's rows in its buffers.

    ``change`` is made as a superuser before any session of the author. Raises RunFailedError, QueryError.
    """
    with ExitStack() as stack:
        found = []
        for binaries, settings in wanted:
            template = template_of(binaries, dataset, on_stage=on_stage)
            running = stack.enter_context(start_server(binaries, settings={**settings, **_QUIET}, template=template))
            warm_buffers(Access(running.server))
            access = Access(running.server, author=AUTHOR)
            change(access)
            session = stack.enter_context(
                Session(
                    access.of_author,
                    statement_timeout_ms=LIMIT_MS,
                    application_name="pgclinic-upgrade",
                    users_search_path=True,
                )
            )
            found.append(Side(access, session))
        yield tuple(found)


def executed_in_turns(
    servers: Sequence[Side],
    statement: ValuedStatement,
    *,
    turns_max: int = _TURNS_MAX,
    limit_s: float = LONG_S,
    should_stop: Callable[[], bool] = lambda: False,
    before: Sequence[Sequence[str]] = (),
) -> list[ExecutionsSeen]:
    """The statement on every server, as often as ``turns_max`` or ``limit_s`` for all allow. ``before`` are settings
    by server.

    Without times where one of them stops or refuses it, or where ``should_stop`` comes first. Raises QueryError.
    """
    settings = before or [()] * len(servers)
    seen = [side.first(statement, own) for side, own in zip(servers, settings, strict=True)]
    if not all(one.runs for one in seen):
        return seen
    began_s, number = time.monotonic(), len(servers)
    order = list(range(number))
    for turn in range(turns_max):
        spent_s = time.monotonic() - began_s
        if should_stop() or (turn >= _TURNS_MIN and spent_s > limit_s):
            break
        # Every server is first, second and last equally often, in both directions.
        rotated = order[turn % number :] + order[: turn % number]
        for at in rotated if turn // number % 2 == 0 else reversed(rotated):
            servers[at].again(statement, seen[at], settings[at])
        if not all(one.runs for one in seen):
            break
    return seen


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _nodes(plan: Mapping[str, Any]) -> Iterator[str]:
    """Node types, such as Hash Join."""
    yield str(plan["Node Type"])
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
