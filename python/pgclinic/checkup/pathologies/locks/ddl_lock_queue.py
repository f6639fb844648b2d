"""A DDL statement waits for its lock, and every later statement on the table waits behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import (
    STRONG_MODES,
    blocked_sessions,
    first_word,
    lock_wait_claim,
    lock_wait_cost,
    queued_behind,
    relation_name,
    waited_locks,
    waiter_evidence,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import cancel_query, end_session, session_evidence
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.snapshot import LockState, SessionState

#: A lock that comes within a second is a pause; after five seconds clients begin to time out.
WAITED_S_MIN, OUTAGE_S = 1.0, 5.0
_RETRY = Treatment(
    title="set lock_timeout before such statements, and repeat them when they fail",
    applies=Applies.APPLICATION,
    risk="a migration may have to be tried several times until the table is free",
    prevents=True,
)


def _detect(case: Case) -> Iterator[Seen]:
    for session in blocked_sessions(case):
        lock = next((one for one in waited_locks(case, session.pid) if one.mode in STRONG_MODES), None)
        # LOCK TABLE of an application is another illness, and is not repeated by hand.
        if lock is None or first_word(session.query) == "lock":
            continue
        waited_s = lock.waited_s if lock.waited_s is not None else session.query_s or 0.0
        queue = queued_behind(case, session.pid)
        if queue and waited_s >= WAITED_S_MIN:
            yield _seen(case, session, lock, queue, waited_s)


def _seen(case: Case, session: SessionState, lock: LockState, queue: Sequence[SessionState], waited_s: float) -> Seen:
    blockers = [found for pid in session.blocked_by if (found := case.session(pid)) is not None]
    table = relation_name(case, lock)
    return Seen(
        subject=table,
        severity=Severity.CRITICAL if waited_s >= OUTAGE_S else Severity.WARNING,
        confidence=Confidence.CERTAIN,
        evidence=(
            session_evidence(
                session,
                Fact(name="waits for", value=f"{lock.mode} on {table}"),
                Fact(name="has waited for", value=waited_s, unit=Unit.SECONDS),
                Fact(name="sessions behind it", value=len(queue), unit=Unit.COUNT),
            ),
            *(session_evidence(blocker, Fact(name="blocks", value=f"session {session.pid}")) for blocker in blockers),
            *waiter_evidence(queue),
        ),
        tables=(table,) if lock.relation_oid in case.all_tables else (),
        cost=lock_wait_cost(float(len(queue) + 1), Fact(name="longest wait", value=waited_s, unit=Unit.SECONDS)),
        claim=lock_wait_claim(("relation",)),
        treatments=(
            cancel_query(
                session.pid,
                title="cancel the waiting DDL statement",
                risk="the migration must be repeated; all who wait behind it go on at once",
            ),
            *(_unblocked(blocker) for blocker in blockers),
            _RETRY,
        ),
    )


def _unblocked(blocker: SessionState) -> Treatment:
    if blocker.backend_type == "autovacuum worker":
        return cancel_query(
            blocker.pid,
            title="cancel the autovacuum that the DDL statement waits for",
            risk="it starts anew later, and at once if it is to prevent wraparound",
        )
    return end_session(
        blocker.pid,
        title="end the session that the DDL statement waits for",
        risk="its transaction is rolled back; the application sees a lost connection",
    )


PATHOLOGY = Pathology(
    name="ddl-lock-queue",
    title="a waiting DDL statement blocks all later statements on its table",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="A DDL statement waits for every transaction that uses its table, however harmless. The queue of a lock "
    "is fair, so that all later statements on the table wait behind the DDL statement, reads among them.",
    threshold="One session behind a DDL statement that has waited for a second: a lock that comes sooner is a pause "
    "that clients do not notice; after five seconds it is an outage of the table.",
    references=(
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES",
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-LOCK-TIMEOUT",
    ),
    detect=_detect,
    explains=("row-lock-queue", "explicit-table-lock", "idle-connections", "connections-near-limit"),
    needs=("sessions", "locks"),
    no_proof="a twin replays statements and not who was idle; the queue ends with the waiting statement",
)
