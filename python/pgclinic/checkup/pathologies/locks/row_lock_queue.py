"""Writers queue for the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.checkup.case import Case, words_of
from pgclinic.checkup.lock_waits import (
    MOSTLY,
    PREPARED,
    ROW_EVENTS,
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
from pgclinic.checkup.treatments import session_evidence
from pgclinic.checkup.workload import sessions_busy_with, statement_evidence, workload
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit

_BLOCKERS_NAMED = 3
_WRITES = ("update", "delete", "insert", "merge")
_TREATMENTS = (
    Treatment(
        title="spread the row over several, such as one counter for each of 16 slots, and sum them up when reading",
        applies=Applies.APPLICATION,
        risk="reading the sum costs more, and a limit on it must be checked otherwise",
    ),
    Treatment(
        title="update the row as the last statement of its transaction, right before COMMIT",
        applies=Applies.APPLICATION,
        risk="none, if nothing later in the transaction needs the new value",
    ),
    Treatment(
        title="insert a row for each change, and add them up now and then",
        applies=Applies.APPLICATION,
        risk="readers see the sum of the last time, or must add up the rest",
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    if not is_queue(case, ROW_EVENTS) or _has_other_cause(case):
        return
    waiting = waiting_sessions(case, ROW_EVENTS)
    statements = waiting_statements(case, ROW_EVENTS) or tuple(_writers(case, waiting))
    tables = _tables(case, statements)
    yield Seen(
        subject=tables[0] if len(tables) == 1 else "rows",
        severity=Severity.WARNING,
        evidence=(
            *(Evidence(kind=SubjectKind.TABLE, name=table) for table in tables),
            *statements,
            *_blockers(case),
        ),
        tables=tables,
        cost=lock_wait_cost(
            waiting, Fact(name="active sessions", value=case.active_sessions or waiting, unit=Unit.COUNT)
        ),
        claim=lock_wait_claim(ROW_EVENTS),
        treatments=_TREATMENTS,
    )


def _has_other_cause(case: Case) -> bool:
    """All wait for a transaction that is idle or prepared: that one is the illness, and not the rows."""
    ends = [
        pid for pid, waiting in queues(case).items() if any(session.wait_event in ROW_EVENTS for session in waiting)
    ]
    return bool(ends) and all(pid == PREPARED or is_idle_in_transaction(case.session(pid)) for pid in ends)


def _writers(case: Case, waiting: float) -> Iterator[Evidence]:
    """Before 14 no sample says which statement waits, and perhaps nobody does at the moment: those that change rows
    and are busy for as long as most of the queue waits."""
    for work in workload(case):
        busy = sessions_busy_with(case, (work.query_id,))
        if work.shape is not None and work.shape.verb in _WRITES and busy >= MOSTLY * waiting:
            yield statement_evidence(case, work, Fact(name="sessions busy with it", value=busy, unit=Unit.RATIO))


def _tables(case: Case, statements: Sequence[Evidence]) -> tuple[str, ...]:
    """Tables of the rows that are waited for: those of locks on single rows, and those that the statements name.

    Who waits for the transaction that wrote the newest version of a row has no lock on the row itself.
    """
    found = {lock.relation_oid for lock in case.snapshot.locks if lock.kind == "tuple"}
    words = frozenset[str]().union(*(words_of(statement.name) for statement in statements))
    return tuple(
        sorted(table.name for table in case.tables if table.state.oid in found or table.state.name.lower() in words)
    )


def _blockers(case: Case) -> Iterator[Evidence]:
    """Who is at the head of the longest queues now."""
    waiting = {one.pid for one in blocked_sessions(case) if one.wait_event in ROW_EVENTS}
    ranked = sorted(queues(case).items(), key=lambda item: len(item[1]), reverse=True)
    heads = [pid for pid, queue in ranked if waiting & {one.pid for one in queue}]
    for pid in heads[:_BLOCKERS_NAMED]:
        session = case.session(pid)
        if session is not None:
            queue = dict(ranked)[pid]
            yield session_evidence(session, Fact(name="sessions behind it", value=len(queue), unit=Unit.COUNT))


PATHOLOGY = Pathology(
    name="row-lock-queue",
    title="writers queue for the same rows",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="A row that is updated stays locked until its transaction has committed, its flush of WAL included. "
    "Writers of one row thus run one after the other, and those that wait keep their connections and locks.",
    threshold="Two sessions that wait at any time, and a third of all active ones: below that most of the time of "
    "sessions goes to work, and a second writer now and then meets the first in any application.",
    references=("https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS",),
    detect=_detect,
    explains=("idle-connections", "connections-near-limit"),
    explains_named=("statement-dominates",),
    needs=("sessions",),
    no_proof="the treatment is a change of the application, which a replay of its statements cannot make",
)
