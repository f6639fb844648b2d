"""A session that is idle in a transaction for long, and hurts nobody yet."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup import holds
from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import queues
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, end_session, session_evidence, session_name
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit
from pgclinic.model.snapshot import SessionState

#: A thousand transactions have come and gone meanwhile, or a minute has: no client needs either for a round trip.
XIDS_MIN, IDLE_S_MIN, IDLE_S_LONG = 1_000, 2.0, 60.0


def _detect(case: Case) -> Iterator[Seen]:
    relations = {count.pid: count.relations for count in case.snapshot.lock_counts}
    blocking = queues(case)
    far = {hold.pid for hold in holds.far_holds(case, "session")}
    for session in case.snapshot.sessions:
        # What others wait for, and what holds the horizon, are illnesses of their own.
        if session.pid in blocking or session.pid in far or not _is_idle(session):
            continue
        age, locked = _age(session), relations.get(session.pid, 0)
        if age < XIDS_MIN and ((session.state_s or 0.0) < IDLE_S_LONG or not (age or locked)):
            continue
        yield Seen(
            subject=session_name(session),
            severity=Severity.NOTICE,
            evidence=(
                session_evidence(
                    session,
                    Fact(name="transactions since", value=age, unit=Unit.TRANSACTIONS),
                    Fact(name="locked tables and indexes", value=locked, unit=Unit.COUNT),
                ),
            ),
            treatments=(
                end_session(
                    session.pid,
                    title="end the session",
                    risk="its transaction is rolled back; the application sees a lost connection",
                ),
                change_settings(
                    case,
                    {"idle_in_transaction_session_timeout": "5min"},
                    title="end such sessions after five minutes",
                    risk="an application that waits in a transaction for longer loses its connection",
                    prevents=True,
                ),
            ),
        )


def _is_idle(session: SessionState) -> bool:
    return (session.state or "").startswith("idle in transaction") and (session.state_s or 0.0) >= IDLE_S_MIN


def _age(session: SessionState) -> int:
    return max(session.xid_age or 0, session.xmin_age or 0)


PATHOLOGY = Pathology(
    name="open-transaction-idle",
    title="a transaction stays open and does nothing",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="The locks of a transaction and its snapshot last until it ends, whether it works or not. The next ALTER "
    "TABLE waits for it and every later statement behind that, and dead rows pile up the longer it lasts.",
    threshold="1,000 transactions or a minute of idleness: a client that is at work comes back within milliseconds.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT",
        "https://www.postgresql.org/docs/current/explicit-locking.html",
    ),
    detect=_detect,
    explains=("idle-connections", "connections-near-limit"),
    needs=("sessions", "lock_counts"),
    no_proof="it costs nothing yet that an experiment could measure",
)
