"""Sessions wait for locks of one that does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import (
    is_idle_in_transaction,
    lock_wait_claim,
    lock_wait_cost,
    longest_wait_s,
    queues,
    waiter_evidence,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, end_session, session_evidence, session_name
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

#: So many sessions are a pool of connections; after so long clients have given up.
CRITICAL_WAITERS, CRITICAL_S = 10, 30.0


def _detect(case: Case) -> Iterator[Seen]:
    for pid, waiting in queues(case).items():
        session = case.session(pid)
        if session is None or not is_idle_in_transaction(session):
            continue
        longest_s = longest_wait_s(waiting)
        critical = len(waiting) >= CRITICAL_WAITERS or longest_s >= CRITICAL_S
        yield Seen(
            subject=session_name(session),
            severity=Severity.CRITICAL if critical else Severity.WARNING,
            evidence=(
                session_evidence(session, Fact(name="sessions that wait", value=len(waiting), unit=Unit.COUNT)),
                *waiter_evidence(waiting),
            ),
            cost=lock_wait_cost(float(len(waiting)), Fact(name="longest wait", value=longest_s, unit=Unit.SECONDS)),
            claim=lock_wait_claim(sorted({one.wait_event for one in waiting if one.wait_event})),
            treatments=(
                end_session(
                    session.pid,
                    title="end the session",
                    risk="its transaction is rolled back; the application sees a lost connection",
                ),
                change_settings(
                    case,
                    {"idle_in_transaction_session_timeout": "1min"},
                    title="end such sessions after a minute",
                    risk="an application that waits in a transaction for longer loses its connection",
                    prevents=True,
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="blocked-by-idle-session",
    title="sessions wait for a transaction that does nothing",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="A transaction keeps its locks until it ends, also while its client thinks, calls a service, or is gone. "
    "All who need the same rows or tables wait, and so does everybody who waits for these.",
    threshold="A second of idleness while another session waits: a client that is at work needs milliseconds between "
    "two statements, and only what waits longer waits for nothing.",
    references=(
        "https://www.postgresql.org/docs/current/explicit-locking.html",
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT",
    ),
    detect=_detect,
    explains=(
        "row-lock-queue",
        "advisory-lock-queue",
        "explicit-table-lock",
        "ddl-lock-queue",
        "connections-near-limit",
    ),
    needs=("sessions",),
    no_proof="a twin replays statements and not the pauses of clients; the waits end with the session",
)
