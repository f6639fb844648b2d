"""A statement that runs for long keeps dead rows alive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.holds import EXPLAINS, THRESHOLD, VACUUM_MANUAL, behind, far_holds, seen_hold
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import cancel_query, change_role_setting, session_evidence, session_name
from pgclinic.model.finding import Area, Fact, Role, Treatment, Unit
from pgclinic.model.snapshot import SessionState


def _detect(case: Case) -> Iterator[Seen]:
    for hold in far_holds(case, "query"):
        session = case.session(hold.pid)
        # A parallel worker has the snapshot of its leader, which is found by itself.
        if session is None or session.leader_pid not in (None, session.pid):
            continue
        running = Fact(name="statement running for", value=session.query_s or 0.0, unit=Unit.SECONDS)
        yield seen_hold(
            case,
            hold,
            subject=session_name(session),
            holder=session_evidence(session, behind(hold), running),
            treatments=_treatments(case, session),
        )


def _treatments(case: Case, session: SessionState) -> tuple[Treatment, ...]:
    cancel = cancel_query(
        session.pid,
        title="cancel the statement",
        risk="its result so far is lost, and with it the transaction that it is part of",
    )
    if session.user is None:
        return (cancel,)
    limit = change_role_setting(
        case,
        session.user,
        "statement_timeout",
        "10min",
        title="limit the statements of its role",
        risk="statements of this role that run for longer are cancelled; sessions that are open keep their limit",
    )
    return (cancel, limit)


PATHOLOGY = Pathology(
    name="horizon-held-by-query",
    title="a long statement holds the xmin horizon",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="A statement keeps its snapshot until it ends, and no row version that is newer can be removed "
    "meanwhile. Each lookup then visits all dead versions of its row; no idle timeout ends it.",
    threshold=THRESHOLD,
    references=(
        VACUUM_MANUAL,
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-STATEMENT-TIMEOUT",
    ),
    detect=_detect,
    explains=EXPLAINS,
    needs=("horizon", "sessions"),
    proof=ProofOn.STUDY,
    study="global-counters",
)
