"""An application locks whole tables, and its sessions queue for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pgclinic.checkup.case import Case, Statement
from pgclinic.checkup.lock_waits import (
    blocked_sessions,
    first_word,
    is_queue,
    lock_wait_claim,
    lock_wait_cost,
    relation_name,
    waited_locks,
    waiter_evidence,
    waiting_sessions,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

_EVENTS = ("relation",)
_TREATMENTS = (
    Treatment(
        title="lock the rows that are changed, by SELECT FOR UPDATE, instead of the table",
        applies=Applies.APPLICATION,
        risk="what the table lock also kept out, such as new rows, needs a constraint or SERIALIZABLE",
    ),
    Treatment(
        title="use the weakest mode that serves, such as SHARE ROW EXCLUSIVE, which lets readers in",
        applies=Applies.APPLICATION,
        risk="two modes that conflict in another order may deadlock",
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    if not is_queue(case, _EVENTS):
        return
    waited = Counter(
        (lock.relation_oid, relation_name(case, lock))
        for session in blocked_sessions(case)
        for lock in waited_locks(case, session.pid)
    )
    lockers = [one for one in case.snapshot.sessions if first_word(one.query) == "lock" and one.state == "active"]
    for (oid, name), _ in waited.most_common(1):
        table = case.all_tables.get(oid or 0)
        statements = [one for one in case.statements_on(table) if first_word(one.text) == "lock"] if table else []
        if not lockers and not statements:
            return
        waiting = waiting_sessions(case, _EVENTS)
        yield Seen(
            subject=name,
            severity=Severity.WARNING,
            confidence=Confidence.CERTAIN if lockers else Confidence.LIKELY,
            evidence=(
                Evidence(kind=SubjectKind.TABLE, name=name),
                *(_statement(statement) for statement in statements),
                *waiter_evidence([one for one in blocked_sessions(case) if one.wait_event in _EVENTS]),
            ),
            tables=(name,) if table else (),
            cost=lock_wait_cost(
                waiting, Fact(name="active sessions", value=case.active_sessions or waiting, unit=Unit.COUNT)
            ),
            claim=lock_wait_claim(_EVENTS),
            treatments=_TREATMENTS,
        )


def _statement(one: Statement) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=one.text,
        query_id=one.query_id,
        facts=(Fact(name="calls", value=one.counters.calls, unit=Unit.COUNT),),
    )


PATHOLOGY = Pathology(
    name="explicit-table-lock",
    title="LOCK TABLE makes sessions queue for a table",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="LOCK TABLE in a mode that conflicts with itself lets one transaction at a time use the table, from "
    "there to the end of its commit. Whatever rows they need, all others wait.",
    threshold="Two sessions that wait for tables at any time, and a third of all active ones: below that most of the "
    "time of sessions goes to work.",
    references=(
        "https://www.postgresql.org/docs/current/sql-lock.html",
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES",
    ),
    detect=_detect,
    explains=("row-lock-queue", "idle-connections", "connections-near-limit"),
    needs=("sessions", "locks"),
    no_proof="the treatment is a change of the application, which a replay of its statements cannot make",
)
