"""A session that is idle in a transaction keeps dead rows alive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.holds import EXPLAINS, THRESHOLD, VACUUM_MANUAL, behind, far_holds, seen_hold
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, end_session, session_evidence, session_name
from pgclinic.model.finding import Area, Role


def _detect(case: Case) -> Iterator[Seen]:
    for hold in far_holds(case, "session"):
        session = case.session(hold.pid)
        if session is None or session.state is None or not session.state.startswith("idle in transaction"):
            continue
        yield seen_hold(
            case,
            hold,
            subject=session_name(session),
            holder=session_evidence(session, behind(hold)),
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


PATHOLOGY = Pathology(
    name="horizon-held-by-idle-session",
    title="an idle transaction holds the xmin horizon",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="A transaction that keeps a snapshot or a transaction ID stops pruning and VACUUM from removing every "
    "row version that is newer. Each lookup then visits all dead versions of its row.",
    threshold=THRESHOLD,
    references=(
        VACUUM_MANUAL,
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT",
    ),
    detect=_detect,
    explains=EXPLAINS,
    needs=("horizon", "sessions"),
    proof=ProofOn.STUDY,
    study="global-counters",
)
