"""Sessions queue for an advisory lock: a mutex of the application, held over its statements and its commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import (
    PREPARED,
    blocked_sessions,
    is_idle_in_transaction,
    is_queue,
    lock_wait_claim,
    lock_wait_cost,
    queues,
    waiting_sessions,
    waiting_statements,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import end_session, session_evidence
from pgclinic.model.finding import Applies, Area, Confidence, Evidence, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.snapshot import SessionState

_EVENTS = ("advisory",)
_HOLDERS_NAMED = 3
_TREATMENTS = (
    Treatment(
        title="use a key for each entity, so that only those wait that work on the same one",
        applies=Applies.APPLICATION,
        risk="all who relied on the one lock for more than one entity must be looked at",
    ),
    Treatment(
        title="take the lock later in the transaction, or use pg_try_advisory_xact_lock() and do other work meanwhile",
        applies=Applies.APPLICATION,
        risk="what was protected before the lock was taken no longer is",
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    ends = [pid for pid, waiting in queues(case).items() if any(session.wait_event in _EVENTS for session in waiting)]
    holders = [found for pid in ends if (found := case.session(pid)) is not None]
    if not is_queue(case, _EVENTS) or _has_other_cause(case, ends):
        return
    waiting = waiting_sessions(case, _EVENTS)
    # One that holds it outside of a transaction and rests is the leader of a group, or has forgotten to unlock.
    resting = [holder for holder in holders if holder.state == "idle"]
    rests = bool(holders) and len(resting) == len(holders)
    key = _key(case)
    yield Seen(
        subject=f"advisory lock {key}" if key is not None else "advisory locks",
        severity=Severity.NOTICE if rests else Severity.WARNING,
        confidence=Confidence.POSSIBLE if rests else Confidence.CERTAIN,
        evidence=(*_holder_evidence(holders), *waiting_statements(case, _EVENTS)),
        cost=lock_wait_cost(
            waiting, Fact(name="active sessions", value=case.active_sessions or waiting, unit=Unit.COUNT)
        ),
        claim=lock_wait_claim(_EVENTS),
        treatments=_ended(resting) if rests else _TREATMENTS,
    )


def _has_other_cause(case: Case, ends: list[int]) -> bool:
    """All wait for a transaction that is idle or prepared, which is an illness by itself."""
    return bool(ends) and all(pid == PREPARED or is_idle_in_transaction(case.session(pid)) for pid in ends)


def _key(case: Case) -> int | None:
    """The key that most wait for."""
    waiting = {session.pid for session in blocked_sessions(case)}
    keys = Counter(
        lock.advisory_key
        for lock in case.snapshot.locks
        if lock.kind == "advisory" and not lock.granted and lock.pid in waiting
    )
    return keys.most_common(1)[0][0] if keys else None


def _holder_evidence(holders: list[SessionState]) -> Iterator[Evidence]:
    for holder in holders[:_HOLDERS_NAMED]:
        yield session_evidence(holder, Fact(name="advisory lock", value="held"))


def _ended(resting: list[SessionState]) -> tuple[Treatment, ...]:
    return tuple(
        end_session(
            one.pid,
            title="end the session, unless it is the leader that the others wait to follow",
            risk="whatever the lock protects is taken over by the next in the queue",
        )
        for one in resting[:_HOLDERS_NAMED]
    )


PATHOLOGY = Pathology(
    name="advisory-lock-queue",
    title="sessions queue for an advisory lock",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="An advisory lock that every transaction takes is a mutex, and one of pg_advisory_xact_lock() is held "
    "until the WAL of the commit is flushed. Throughput is then one transaction a commit, whatever the CPUs.",
    threshold="Two sessions that wait at any time, and a third of all active ones: below that most of the time of "
    "sessions goes to work. If its holder rests outside of a transaction, the queue may be wanted: a notice.",
    references=("https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS",),
    detect=_detect,
    explains=("idle-connections", "connections-near-limit"),
    explains_named=("statement-dominates",),
    needs=("sessions", "locks"),
    no_proof="the treatment is a change of the application, which a replay of its statements cannot make",
)
