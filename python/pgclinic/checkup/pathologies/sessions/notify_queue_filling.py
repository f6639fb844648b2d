"""A listener stays in a transaction, and the notifications that it has not read fill their queue."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import end_session, session_evidence, setting_evidence
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import SessionState

#: A tenth of the queue is 800 MB with the default size; the server itself warns at half of it.
USED_MIN, USED_CRITICAL = 0.1, 0.5
_SUSPECTS_NAMED = 3
_SIZE = "max_notify_queue_pages"
#: The size before it was a setting, and its default.
_PAGES = 1_048_576


def _detect(case: Case) -> Iterator[Seen]:
    for queue in case.snapshot.notify_queue:
        if queue.used_share < USED_MIN:
            continue
        pages = case.number(_SIZE) or _PAGES
        suspects = _suspects(case)
        yield Seen(
            subject="notification queue",
            severity=Severity.CRITICAL if queue.used_share >= USED_CRITICAL else Severity.WARNING,
            confidence=Confidence.CERTAIN if len(suspects) == 1 else Confidence.LIKELY,
            evidence=(
                Evidence(
                    kind=SubjectKind.SERVER,
                    name="notification queue",
                    facts=(
                        Fact(name="in use", value=queue.used_share, unit=Unit.SHARE),
                        Fact(
                            name="not read yet",
                            value=queue.used_share * pages * case.snapshot.server.block_bytes,
                            unit=Unit.BYTES,
                        ),
                    ),
                ),
                *(session_evidence(session) for session in suspects),
                *((setting_evidence(case, _SIZE),) if _SIZE in case.settings else ()),
            ),
            treatments=tuple(_ended(session) for session in suspects),
        )


def _suspects(case: Case) -> list[SessionState]:
    """A listener reads its notifications between transactions: those with the oldest open ones have not for longest."""
    known = [
        session
        for session in case.snapshot.sessions
        if session.backend_type == "client backend" and session.transaction_s is not None
    ]
    return sorted(known, key=lambda one: one.transaction_s or 0.0, reverse=True)[:_SUSPECTS_NAMED]


def _ended(session: SessionState) -> Treatment:
    return end_session(
        session.pid,
        title="end the session with the oldest transaction, if it listens",
        risk="its transaction is rolled back; it must listen again, and has lost what it did not read",
    )


PATHOLOGY = Pathology(
    name="notify-queue-filling",
    title="the notification queue fills up",
    area=Area.SESSIONS,
    role=Role.SYMPTOM,
    mechanism="A notification stays in the queue until all listeners of its database have read it, which they do "
    "between transactions. One that stays in a transaction keeps all; with the queue full every NOTIFY fails.",
    threshold="A tenth of the queue: listeners that read keep it empty, and the server warns in its log at a half.",
    references=(
        "https://www.postgresql.org/docs/current/sql-notify.html",
        "https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SESSION",
    ),
    detect=_detect,
    needs=("notify_queue", "sessions"),
    no_proof="a twin has no listeners; the queue is freed with the transaction",
)
