"""Who waits for whose locks: chains of sessions down to those that wait for nobody, and what the waits cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pgclinic.checkup.case import Case
from pgclinic.checkup.treatments import session_evidence
from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, SubjectKind, TimeClaim, Unit
from pgclinic.model.snapshot import LockState, SessionState
from pgclinic.sql.fingerprint import normalised

#: pg_blocking_pids() has this number for a prepared transaction.
PREPARED = 0
#: Between two statements of a transaction an application needs milliseconds; a second is no round trip any more.
IDLE_S = 1.0
#: Two sessions that always wait and a third of all active ones: below that most of the time goes to work.
QUEUE_MIN, QUEUE_SHARE = 2.0, 0.3
#: Of the time of a statement: from here on, nothing else about it is worth a look first.
MOSTLY = 0.5
STRONG_MODES = frozenset({"ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"})
ROW_EVENTS = ("transactionid", "tuple")
_NAMED = 5
_STATEMENTS_NAMED = 3


def blocked_sessions(case: Case) -> tuple[SessionState, ...]:
    return tuple(session for session in case.snapshot.sessions if session.blocked_by)


def queues(case: Case) -> dict[int, tuple[SessionState, ...]]:
    """Blocked sessions by the process at the end of their chain, which waits for no lock."""
    blocked = {session.pid: session for session in blocked_sessions(case)}
    found: dict[int, list[SessionState]] = {}
    for one in blocked.values():
        for root in _roots(one.pid, blocked):
            found.setdefault(root, []).append(one)
    return {root: tuple(waiting) for root, waiting in found.items()}


def queued_behind(case: Case, pid: int) -> tuple[SessionState, ...]:
    """Sessions that wait for this process, directly or through others."""
    blocked = blocked_sessions(case)
    found: dict[int, SessionState] = {}
    ahead = {pid}
    while True:
        more = {
            session.pid: session for session in blocked if session.pid not in found and ahead & set(session.blocked_by)
        }
        more.pop(pid, None)
        if not more:
            return tuple(found.values())
        found |= more
        ahead = set(more)


def is_idle_in_transaction(session: SessionState | None) -> bool:
    """For longer than a round trip."""
    if session is None or session.state is None or not session.state.startswith("idle in transaction"):
        return False
    return (session.state_s or 0.0) >= IDLE_S


def longest_wait_s(waiting: Iterable[SessionState]) -> float:
    """At most the age of their statements: when a wait began is known since PostgreSQL 14 alone."""
    return max((session.query_s or 0.0 for session in waiting), default=0.0)


def waiting_sessions(case: Case, events: Sequence[str]) -> float:
    """How many sessions wait for such locks, on average over the samples; without samples those of the moment."""
    if not case.activity:
        return float(sum(session.wait_event in events for session in blocked_sessions(case)))
    return sum(case.sessions_where(wait_event_type="Lock", wait_event=event) for event in events)


def is_queue(case: Case, events: Sequence[str]) -> bool:
    waiting = waiting_sessions(case, events)
    return waiting >= max(QUEUE_MIN, QUEUE_SHARE * (case.active_sessions or 0.0))


def lock_wait_cost(waiting: float, *basis: Fact) -> Cost:
    return Cost(
        kind=CostKind.WAIT_S_PER_S,
        value=waiting,
        basis=(Fact(name="sessions that wait", value=waiting, unit=Unit.COUNT), *basis),
    )


def lock_wait_claim(events: Iterable[str]) -> TimeClaim:
    return TimeClaim(waits=tuple(f"Lock:{event}" for event in events))


def waiter_evidence(waiting: Sequence[SessionState]) -> tuple[Evidence, ...]:
    """The sessions that have waited longest."""
    ranked = sorted(waiting, key=lambda one: one.query_s or 0.0, reverse=True)
    return tuple(
        session_evidence(session, Fact(name="waits for", value=", ".join(_blocker(pid) for pid in session.blocked_by)))
        for session in ranked[:_NAMED]
    )


def waiting_statements(case: Case, events: Sequence[str]) -> tuple[Evidence, ...]:
    """Statements that wait for such locks most often: by the samples, on 13 those that wait now.

    Where some do nothing else most of their time, those that have other work stay out: it is what makes them slow.
    """
    waiting, active = Counter[int](), Counter[int]()
    for row in case.active_rows:
        query_id, backends = row.get("query_id"), row.get("backends")
        if isinstance(query_id, int) and isinstance(backends, int) and query_id in case.texts:
            active[query_id] += backends
            waiting[query_id] += backends if row.get("wait_event") in events else 0
    seen = {query_id: count for query_id, count in waiting.most_common() if count}
    mostly = {query_id: count for query_id, count in seen.items() if count >= MOSTLY * active[query_id]}
    if seen:
        samples = len(case.activity)
        return tuple(
            _statement(case, case.texts[query_id], query_id, count / samples, count / active[query_id])
            for query_id, count in list((mostly or seen).items())[:_STATEMENTS_NAMED]
        )
    texts = Counter(
        session.query for session in blocked_sessions(case) if session.wait_event in events and session.query
    )
    by_text = {normalised(text): query_id for query_id, text in case.texts.items()} if texts else {}
    return tuple(
        _statement(case, text, by_text.get(normalised(text)), float(count))
        for text, count in texts.most_common(_STATEMENTS_NAMED)
    )


def waited_locks(case: Case, pid: int) -> tuple[LockState, ...]:
    """Locks of whole relations that this process waits for."""
    return tuple(
        lock for lock in case.snapshot.locks if lock.pid == pid and not lock.granted and lock.kind == "relation"
    )


def relation_name(case: Case, lock: LockState) -> str:
    """Its qualified name; of a relation of another database only the number is known."""
    table = case.all_tables.get(lock.relation_oid or 0)
    return table.name if table is not None else lock.relation or f"relation {lock.relation_oid}"


def first_word(statement: str | None) -> str:
    """``alter``, ``lock``, ``select``; nothing of a hidden statement."""
    words = (statement or "").split(None, 1)
    return words[0].lower().rstrip(";") if words else ""


def _roots(pid: int, blocked: dict[int, SessionState]) -> set[int]:
    """Ends of the chains from ``pid``; a circle of sessions, which is a deadlock, has none."""
    ends, seen, waiting = set[int](), set[int](), [pid]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in blocked:
            waiting.extend(blocked[one].blocked_by)
        else:
            ends.add(one)
    return ends


def _blocker(pid: int) -> str:
    return "a prepared transaction" if pid == PREPARED else f"session {pid}"


def _statement(case: Case, text: str, query_id: int | None, waiting: float, share: float | None = None) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=case.texts.get(query_id or 0) or text,
        query_id=query_id,
        facts=(
            Fact(name="sessions that wait", value=waiting, unit=Unit.COUNT),
            *(
                (Fact(name="part of its time that it waits", value=share, unit=Unit.SHARE),)
                if share is not None
                else ()
            ),
        ),
    )
