"""Transactions are open most of their time while their clients do something else."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import session_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit

#: Five sessions at any time, and three for each that works: a client that only sends its next statement is slower than
#: the server on a slow network at most.
IDLE_MIN, RATIO_MIN = 5.0, 3.0
_SESSIONS_NAMED = 3
_TREATMENT = Treatment(
    title="call services, read files and compute before BEGIN or after COMMIT, or send the statements in one batch",
    applies=Applies.APPLICATION,
    risk="what was read before BEGIN may have changed when the transaction uses it",
)


def _detect(case: Case) -> Iterator[Seen]:
    idle = case.sessions_where(state="idle in transaction")
    working = case.active_sessions
    if working is None or idle < IDLE_MIN or idle < RATIO_MIN * working:
        return
    resting = [session for session in case.snapshot.sessions if session.state == "idle in transaction"]
    resting.sort(key=lambda one: one.transaction_s or 0.0, reverse=True)
    yield Seen(
        subject="transactions",
        severity=Severity.NOTICE,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name="open transactions",
                facts=(
                    Fact(name="idle in transaction", value=idle, unit=Unit.COUNT),
                    Fact(name="active", value=working, unit=Unit.COUNT),
                ),
            ),
            *(session_evidence(one) for one in resting[:_SESSIONS_NAMED]),
        ),
        treatments=(_TREATMENT,),
    )


PATHOLOGY = Pathology(
    name="transactions-wait-for-client",
    title="open transactions wait for their clients",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="Between two statements of a transaction its connection, its locks and its snapshot are kept and used by "
    "nobody. Clients that work meanwhile need a larger pool, and make others wait for their rows.",
    threshold="Five sessions idle in transaction at any time and three for each active one: on an ordinary network a "
    "client sends the next statement sooner than the server answers it.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW",
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT",
    ),
    detect=_detect,
    explains=("row-lock-queue", "connections-near-limit", "idle-connections"),
    needs=("sessions",),
    no_proof="a twin replays statements and not the pauses of clients",
)
