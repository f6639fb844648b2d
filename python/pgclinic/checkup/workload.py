"""The statements that take the most time: what one call of each does, and what all its calls cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pgclinic.checkup.case import Case
from pgclinic.checkup.statement_time import OBSERVED_CALLS_MIN
from pgclinic.checkup.time_shares import of_statements
from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, Severity, SubjectKind, TimeClaim, Unit
from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.sql.statement_shape import StatementShape, statement_shape

#: Statements are in the order of their time; what comes after these takes none that anybody would notice.
STATEMENTS_MAX = 500
#: A statement below this share of the time is noise in what a server does.
COSTLY_SHARE = 0.05
#: Sessions that are busy with it at a time, on average: two per cent of one CPU. An idle server has no cost.
COSTLY_SESSIONS = 0.02
#: A part of the time that is so close to all of it need not be named.
WHOLE_PART = 0.995
SINCE_RESET = "statements by their rate since the reset, called too seldom while observed"
SAVED = "part of it that the cure saves"
#: The part of each statement's time that a cure would save, 0 to 1: of each, or by query id.
Saved = float | Mapping[int, float]
_ADDED = (
    *("calls", "total_ms", "rows", "hits", "reads", "temporary_written", "plans", "plan_ms", "jit_ms"),
    *("workers_wanted", "workers_started"),
)


@dataclass(frozen=True)
class Work:
    """One statement of all roles: during the observation if it ran often enough, else since statistics were reset."""

    query_id: int
    text: str
    users: tuple[str, ...]
    calls: int
    total_ms: float
    rows: int
    buffers: int
    temporary_written: int
    plans: int
    plan_ms: float
    jit_ms: float
    workers_wanted: int
    workers_started: int
    min_ms: float
    max_ms: float

    @property
    def shape(self) -> StatementShape | None:
        return statement_shape(self.text)

    @property
    def subject(self) -> str:
        return f"statement {self.query_id}"

    @property
    def mean_ms(self) -> float:
        return self.total_ms / self.calls

    @property
    def buffers_per_call(self) -> float:
        return self.buffers / self.calls

    @property
    def rows_per_call(self) -> float:
        return self.rows / self.calls


def workload(case: Case) -> tuple[Work, ...]:
    """The statements with the most time, the longest first."""
    before: dict[tuple[int, str, bool], StatementCounters] = {}
    if case.snapshot.counters_before is not None:
        before = {_key(statement): statement for statement in case.snapshot.counters_before.statements}
    by_id: dict[int, list[StatementCounters]] = {}
    for statement in case.snapshot.counters.statements:
        if statement.query_id in by_id or len(by_id) < STATEMENTS_MAX:
            by_id.setdefault(statement.query_id, []).append(statement)
    return tuple(
        _work(query_id, case.texts.get(query_id, ""), rows, before)
        for query_id, rows in by_id.items()
        if any(row.calls for row in rows)
    )


def sessions_busy_with(case: Case, query_ids: Iterable[int]) -> float:
    """How many sessions are at these statements at a time, on average."""
    elapsed_s = case.observed_s or case.statements_s
    return sum(case.statement_ms.get(key, 0.0) for key in set(query_ids)) / 1_000 / elapsed_s


def saved_share(case: Case, works: Iterable[Work], saved: Saved = 1.0) -> float:
    """The part of the time of all statements that a cure of these would save."""
    return sum(case.statement_share(one) * part for one, part in _parts(works, saved).items())


def severity_of(case: Case, works: Iterable[Work], saved: Saved = 1.0) -> Severity:
    """A warning if these statements, or this part of their time, take time that somebody could miss now."""
    parts = _parts(works, saved)
    busy = sum(sessions_busy_with(case, (one,)) * part for one, part in parts.items())
    share = sum(case.statement_share(one) * part for one, part in parts.items())
    return Severity.WARNING if share >= COSTLY_SHARE and busy >= COSTLY_SESSIONS else Severity.NOTICE


def time_cost(case: Case, works: Iterable[Work], saved: Saved = 1.0) -> Cost | None:
    """The share of the time of all statements that these, or this part of their time, take."""
    parts = _parts(works, saved)
    spent_ms = sum(case.statement_ms.get(one, 0.0) for one in parts)
    saved_ms = sum(case.statement_ms.get(one, 0.0) * part for one, part in parts.items())
    if not spent_ms or not case.all_statements_ms:
        return None
    part = saved_ms / spent_ms
    seldom = sum(case.statement_times[one].since_reset for one in parts if one in case.statement_times)
    return Cost(
        kind=CostKind.TIME_SHARE,
        value=min(saved_ms / case.all_statements_ms, 1.0),
        basis=(
            Fact(name="time of these statements", value=spent_ms, unit=Unit.MILLISECONDS),
            *((Fact(name=SAVED, value=part, unit=Unit.SHARE),) if part < WHOLE_PART else ()),
            Fact(name="time of all statements", value=case.all_statements_ms, unit=Unit.MILLISECONDS),
            *((Fact(name=SINCE_RESET, value=seldom, unit=Unit.COUNT),) if seldom else ()),
        ),
    )


def time_claim(works: Iterable[Work], saved: Saved = 1.0, *, at_most: bool = False) -> TimeClaim:
    """The claim of that part of their time; with ``at_most`` nobody knows how much of it a cure saves."""
    return of_statements(_parts(works, saved), at_most=at_most)


def _parts(works: Iterable[Work], saved: Saved) -> Mapping[int, float]:
    query_ids = dict.fromkeys(work.query_id for work in works)
    if isinstance(saved, Mapping):
        return {key: saved.get(key, 0.0) for key in query_ids}
    return dict.fromkeys(query_ids, saved)


def statement_evidence(case: Case, work: Work, *facts: Fact) -> Evidence:
    """A statement with its calls, its time and what else is said of it."""
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=work.text or work.subject,
        query_id=work.query_id,
        facts=(
            Fact(name="calls", value=work.calls, unit=Unit.COUNT),
            Fact(name="mean time", value=work.mean_ms, unit=Unit.MILLISECONDS),
            Fact(
                name="share of the time of all statements", value=case.statement_share(work.query_id), unit=Unit.SHARE
            ),
            *facts,
        ),
    )


def _key(one: StatementCounters) -> tuple[int, str, bool]:
    return (one.query_id, one.user, one.is_top_level)


def _work(
    query_id: int,
    text: str,
    rows: list[StatementCounters],
    before: dict[tuple[int, str, bool], StatementCounters],
) -> Work:
    whole = {name: sum(_amount(row, name) for row in rows) for name in _ADDED}
    grown = {name: sum(_grown(row, before.get(_key(row)), name) for row in rows) for name in _ADDED}
    taken = grown if before and grown["calls"] >= OBSERVED_CALLS_MIN else whole
    return Work(
        query_id=query_id,
        text=text,
        users=tuple(dict.fromkeys(row.user for row in rows)),
        calls=int(taken["calls"]),
        total_ms=taken["total_ms"],
        rows=int(taken["rows"]),
        buffers=int(taken["hits"] + taken["reads"]),
        temporary_written=int(taken["temporary_written"]),
        plans=int(taken["plans"]),
        plan_ms=taken["plan_ms"],
        jit_ms=taken["jit_ms"],
        workers_wanted=int(taken["workers_wanted"]),
        workers_started=int(taken["workers_started"]),
        min_ms=min(row.min_ms for row in rows),
        max_ms=max(row.max_ms for row in rows),
    )


def _grown(row: StatementCounters, before: StatementCounters | None, name: str) -> float:
    """A statement that was reset or forgotten in between starts anew."""
    now = _amount(row, name)
    if before is None or before.calls > row.calls:
        return now
    return max(now - _amount(before, name), 0.0)


def _amount(row: Any, name: str) -> float:
    return float(getattr(row, name) or 0)
