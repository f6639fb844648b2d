"""A DDL statement that runs for long has locked its table, and other statements wait for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import (
    STRONG_MODES,
    first_word,
    lock_wait_claim,
    lock_wait_cost,
    longest_wait_s,
    queues,
    relation_name,
    waited_locks,
    waiter_evidence,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import cancel_query, session_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.snapshot import LockState, SessionState

#: Less is a pause that clients do not notice; after five seconds they begin to time out.
WAITED_S_MIN, OUTAGE_S = 1.0, 5.0
#: How the same is done with a weaker lock, by the first word of the statement.
_WITHOUT_LOCK = {
    "create": "build the index with CREATE INDEX CONCURRENTLY",
    "reindex": "rebuild the index with REINDEX CONCURRENTLY",
    "refresh": "refresh the view with REFRESH MATERIALIZED VIEW CONCURRENTLY",
    "vacuum": "use VACUUM without FULL, or an extension that rewrites a table without a lock",
    "cluster": "use an extension that rewrites a table without a lock",
    "alter": "add constraints as NOT VALID and validate them afterwards; change types by a new column",
    "truncate": "run it when nobody uses the table, with lock_timeout set",
    "drop": "run it when nobody uses the table, with lock_timeout set",
}


def _detect(case: Case) -> Iterator[Seen]:
    for pid, waiting in queues(case).items():
        session = case.session(pid)
        word = first_word(session.query) if session is not None else ""
        if session is None or session.state != "active" or word not in _WITHOUT_LOCK:
            continue
        held = {one.relation_oid for one in case.snapshot.locks if _is_strong(one, pid)}
        lock = next(
            (lock for one in waiting for lock in waited_locks(case, one.pid) if lock.relation_oid in held), None
        )
        if lock is not None and longest_wait_s(waiting) >= WAITED_S_MIN:
            yield _seen(case, session, lock, waiting)


def _is_strong(lock: LockState, pid: int) -> bool:
    return lock.pid == pid and lock.granted and lock.kind == "relation" and lock.mode in STRONG_MODES


def _seen(case: Case, session: SessionState, lock: LockState, waiting: Sequence[SessionState]) -> Seen:
    table, waited_s = relation_name(case, lock), longest_wait_s(waiting)
    return Seen(
        subject=table,
        severity=Severity.CRITICAL if waited_s >= OUTAGE_S else Severity.WARNING,
        evidence=(
            session_evidence(
                session,
                Fact(name="has locked", value=table),
                Fact(name="statement running for", value=session.query_s or 0.0, unit=Unit.SECONDS),
                Fact(name="sessions that wait", value=len(waiting), unit=Unit.COUNT),
            ),
            *waiter_evidence(waiting),
        ),
        tables=(table,) if lock.relation_oid in case.all_tables else (),
        cost=lock_wait_cost(float(len(waiting)), Fact(name="longest wait", value=waited_s, unit=Unit.SECONDS)),
        claim=lock_wait_claim(("relation",)),
        treatments=(
            cancel_query(
                session.pid,
                title="cancel the DDL statement",
                risk="what it has done so far is undone, and it must be repeated",
            ),
            Treatment(
                title=_WITHOUT_LOCK[first_word(session.query)],
                applies=Applies.APPLICATION,
                risk="takes longer than the statement that locks",
                prevents=True,
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="table-locked-by-ddl",
    title="a running DDL statement blocks its table",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="DDL statements that build an index, rewrite a table or check all of its rows keep their lock until they "
    "are done. Writes to the table, and with ACCESS EXCLUSIVE also reads, wait all this time.",
    threshold="A session that has waited for a second: a shorter lock is a pause that clients do not notice; after "
    "five seconds it is an outage of the table.",
    references=(
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES",
        "https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY",
    ),
    detect=_detect,
    explains=("row-lock-queue", "explicit-table-lock", "ddl-lock-queue", "connections-near-limit"),
    needs=("sessions", "locks"),
    no_proof="a migration runs once, and no workload repeats it",
)
