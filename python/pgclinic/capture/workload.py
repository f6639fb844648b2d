"""What the clients of a live server do: the statements that it counted, and what its sessions were seen to run.

Nothing is written and no counter is reset. What belongs to the time of the capture is the difference of two readings.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pgclinic.model.record import Record
from pgclinic.model.twin import ConnectionProfile, Gap, TransactionSeen, TwinStatement, TwinWorkload
from pgclinic.pg.extension_schemas import STATEMENTS, extension_schemas, in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.fingerprint import fingerprint
from pgclinic.sql.statement_kind import StatementKind, known_statement

#: Sessions are looked at so many times in a row, and for this share of the time.
BURST = 20
SHARE_OF_TIME = 0.2
#: Counters since two resets that lie this far apart, as a share of the time, do not belong together.
_SAME_TIME = 0.1
_NOT_COUNTED = "pg_stat_statements"
_SKIPPED = frozenset((StatementKind.OWN, StatementKind.CHECK))


class CounterReading(Record):
    """One reading of pg_stat_statements. ``rows`` are by query id, ``hidden`` is how many have no text.

    ``at_s`` is the server's wall clock, which may be set meanwhile, ``steady_s`` a clock of ours for differences."""

    at_s: float
    steady_s: float
    rows: dict[int, dict[str, Any]]
    hidden: int
    commits: int
    rollbacks: int
    database_reset_s: float | None
    statements_reset_s: float | None


class CapturedWorkload(Record):
    """The workload, and what could not be seen of it."""

    workload: TwinWorkload
    gaps: tuple[Gap, ...] = ()


def capture_workload(
    session: Session,
    major: int,
    *,
    observe_s: float = 0.0,
    sample_s: float = 0.5,
    pause: Callable[[float], None] = time.sleep,
) -> CapturedWorkload:
    """Read the counters first of all, then look at sessions; with ``observe_s`` the counters' growth over that time.

    ``session`` is outside of a transaction and sees the views of ``pg_stat_statements``. Without ``observe_s`` the
    counters are those since they were reset, and sessions are sampled for ``sample_s``. Raises QueryError when the
    connection is lost.
    """
    before, problem = _counters(session, major)
    sampler = _Sampler(session, major)
    sampler.sample_for(observe_s or sample_s, pause)
    gaps = list(sampler.gaps())
    if before is None:
        gaps.insert(0, problem)
        return CapturedWorkload(workload=TwinWorkload(connections=sampler.profile()), gaps=tuple(gaps))
    if before.hidden:
        gaps.append(_hidden_texts(before.hidden, _role(session)))
    after = _counters(session, major)[0] if observe_s else None
    workload = growth(before, after) if after is not None else _since_reset(before)
    seen = sampler.transactions(workload.statements)
    return CapturedWorkload(workload=_completed(workload, seen, sampler.profile()), gaps=tuple(gaps))


def _completed(
    workload: TwinWorkload, seen: tuple[TransactionSeen, ...], connections: ConnectionProfile
) -> TwinWorkload:
    return TwinWorkload(
        statements=workload.statements,
        transactions=seen,
        since_s=workload.since_s,
        is_difference=workload.is_difference,
        # Every sample was a transaction of ours.
        commits=None if workload.commits is None else max(0, workload.commits - connections.samples),
        rollbacks=workload.rollbacks,
        connections=connections,
    )


def _counters(session: Session, major: int) -> tuple[CounterReading | None, Gap]:
    """The counters, or a gap that says why there are none."""
    schemas = extension_schemas(session, major)
    if STATEMENTS not in schemas:
        problem = "the extension is not created in this database"
        return None, Gap(what=_NOT_COUNTED, problem=problem, grant="create extension pg_stat_statements")
    try:
        rows = _records(session, in_schemas(query("workload_statements", major), schemas), _STATEMENT_COLUMNS)
        (clock,) = _records(session, in_schemas(query("workload_clock", major), schemas), _CLOCK_COLUMNS)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return None, Gap(what=_NOT_COUNTED, problem=str(error).splitlines()[0])
    known = {int(row["query_id"]): row for row in rows if row["query_id"] is not None and row["query"] is not None}
    counters = CounterReading(
        at_s=clock["at_s"],
        steady_s=time.monotonic(),
        rows=known,
        hidden=len(rows) - len(known),
        commits=clock["commits"],
        rollbacks=clock["rollbacks"],
        database_reset_s=clock["database_reset_s"],
        statements_reset_s=clock["statements_reset_s"],
    )
    return counters, Gap(what=_NOT_COUNTED, problem="")


_STATEMENT_COLUMNS = (
    *("query_id", "query", "calls", "rows", "total_ms", "blocks_hit", "blocks_read", "blocks_dirtied", "temp_blocks"),
    *("wal_bytes", "first_seen_s"),
)
_CLOCK_COLUMNS = ("at_s", "commits", "rollbacks", "database_reset_s", "statements_reset_s")
_SESSION_COLUMNS = ("at_s", "pid", "state", "transaction_s", "query_s", "query_id", "query")
_SUMS = ("calls", "rows", "total_ms", "blocks_hit", "blocks_read", "blocks_dirtied", "temp_blocks", "wal_bytes")


def _records(session: Session, sql: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in session.rows(sql)]


def _hidden_texts(count: int, role: str) -> Gap:
    return Gap(
        what=_NOT_COUNTED,
        problem=f"{count} statements of other roles have no text for this role",
        grant=_grant(role),
    )


def _role(session: Session) -> str:
    (role,) = session.row("select pg_catalog.quote_ident(current_user)")
    return str(role)


def _grant(role: str) -> str:
    return f"grant pg_read_all_stats to {role}"


def growth(before: CounterReading, after: CounterReading) -> TwinWorkload:
    """What was counted between two readings. An entry that was evicted meanwhile and came back counts from zero."""
    rows = []
    for query_id, row in after.rows.items():
        earlier = before.rows.get(query_id)
        if earlier is not None and earlier["calls"] <= row["calls"]:
            rows.append(row | {name: (row[name] or 0) - (earlier[name] or 0) for name in _SUMS})
        else:
            rows.append(row)
    return TwinWorkload(
        statements=_statements(rows),
        since_s=after.steady_s - before.steady_s,
        is_difference=True,
        commits=after.commits - before.commits,
        rollbacks=after.rollbacks - before.rollbacks,
    )


def _since_reset(counters: CounterReading) -> TwinWorkload:
    since_s = None if counters.statements_reset_s is None else counters.at_s - counters.statements_reset_s
    database_s = None if counters.database_reset_s is None else counters.at_s - counters.database_reset_s
    together = since_s is not None and database_s is not None and abs(since_s - database_s) <= _SAME_TIME * since_s
    return TwinWorkload(
        statements=_statements(list(counters.rows.values())),
        since_s=since_s,
        commits=counters.commits if together else None,
        rollbacks=counters.rollbacks if together else None,
    )


def _statements(rows: list[dict[str, Any]]) -> tuple[TwinStatement, ...]:
    """The statements that were called, without monitoring and the checks of foreign keys; the most called first."""
    made = []
    for row in rows:
        known = known_statement(row["query"])
        if not row["calls"] or known.kind in _SKIPPED:
            continue
        counts: Mapping[str, Any] = {name: row[name] or 0 for name in _SUMS}
        made.append(
            TwinStatement(
                query_id=int(row["query_id"]),
                text=known.text,
                kind=known.kind.value,
                first_seen_s=row["first_seen_s"],
                **counts,
            )
        )
    return tuple(sorted(made, key=lambda one: (-one.calls, one.query_id)))


class _Sampler:
    """Looks at the sessions and remembers which statements each transaction ran."""

    def __init__(self, session: Session, major: int) -> None:
        self._session = session
        self._sql = query("workload_sessions", major)
        self._running: dict[tuple[int, float], _Running] = {}
        self._counts: Counter[str] = Counter()
        self._sessions_max = 0
        self._samples = 0
        self._hidden = 0

    def sample_for(self, duration_s: float, pause: Callable[[float], None]) -> None:
        """Look in bursts: only one sample right after the other shows two statements of a short transaction."""
        end_s = time.monotonic() + duration_s
        while True:
            began_s = time.monotonic()
            for _ in range(BURST):
                self._sample()
            took_s = time.monotonic() - began_s
            rest_s = took_s / SHARE_OF_TIME - took_s
            if time.monotonic() + rest_s >= end_s:
                return
            pause(rest_s)

    def _sample(self) -> None:
        rows = _records(self._session, self._sql, _SESSION_COLUMNS)
        self._samples += 1
        self._sessions_max = max(self._sessions_max, len(rows))
        self._counts["sessions"] += len(rows)
        for row in rows:
            state = row["state"]
            if state is None:
                self._hidden += 1
            elif state.startswith("idle in transaction"):
                self._counts["idle in transaction"] += 1
            elif state == "active":
                self._counts["active"] += 1
            if row["transaction_s"] is not None and state != "idle":
                self._remember(row)

    def _remember(self, row: dict[str, Any]) -> None:
        statement = row["query_id"] if row["query_id"] is not None else row["query"]
        key = (row["pid"], row["transaction_s"])
        seen = self._running.setdefault(key, _Running())
        if statement is not None and (not seen.statements or seen.statements[-1] != statement):
            seen.statements.append(statement)
        seen.idle = seen.idle or (row["state"] or "").startswith("idle in transaction")
        seen.together = seen.together or row["query_s"] == row["transaction_s"]
        seen.samples += 1
        seen.age_s += max(0.0, row["at_s"] - row["transaction_s"])

    def transactions(self, statements: tuple[TwinStatement, ...]) -> tuple[TransactionSeen, ...]:
        """What was seen, of the statements that count; transactions that ran the same ones stand together."""
        by_text = {fingerprint(statement.text): statement.query_id for statement in statements}
        planned = {statement.query_id for statement in statements if StatementKind(statement.kind).has_plan}
        found: dict[tuple[tuple[int, ...], bool, bool], list[_Running]] = {}
        for one in self._running.values():
            named = (by_text.get(fingerprint(key)) if isinstance(key, str) else key for key in one.statements)
            ids = tuple(key for key in named if key in planned)
            if ids:
                explicit = one.idle or len(one.statements) > 1
                found.setdefault((ids, explicit, not explicit and one.together), []).append(one)
        seen = [_seen_together(key, running) for key, running in found.items()]
        return tuple(sorted(seen, key=lambda one: -one.seen))

    def profile(self) -> ConnectionProfile:
        samples = max(1, self._samples)
        return ConnectionProfile(
            sessions=round(self._counts["sessions"] / samples),
            sessions_max=self._sessions_max,
            active=self._counts["active"] / samples,
            idle_in_transaction=self._counts["idle in transaction"] / samples,
            samples=self._samples,
        )

    def gaps(self) -> Iterator[Gap]:
        if self._hidden:
            yield Gap(
                what="pg_stat_activity",
                problem="sessions of other roles show neither state nor statement",
                grant=_grant(_role(self._session)),
            )


class _Running:
    """One transaction of one session. Texts stand for identifiers where the server computes none."""

    def __init__(self) -> None:
        self.statements: list[int | str] = []
        self.idle = False
        self.together = False
        self.samples = 0
        self.age_s = 0.0


def _seen_together(key: tuple[tuple[int, ...], bool, bool], running: list[_Running]) -> TransactionSeen:
    ids, explicit, alone = key
    samples = sum(one.samples for one in running)
    return TransactionSeen(
        query_ids=ids,
        seen=len(running),
        samples=samples,
        age_s=sum(one.age_s for one in running) / samples,
        explicit=explicit,
        alone=alone,
    )
