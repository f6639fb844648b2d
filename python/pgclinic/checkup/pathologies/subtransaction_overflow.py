"""A transaction with more subtransactions than fit in shared memory makes all snapshots expensive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.slru import AVOID_SUBTRANSACTIONS, SlruUse, slru_use
from pgclinic.checkup.time_shares import time_share
from pgclinic.checkup.treatments import end_session, session_evidence, session_name
from pgclinic.model.finding import (
    Area,
    Confidence,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Unit,
)
from pgclinic.model.snapshot import SubtransactionCount

#: The first version that shows which session has them.
_COUNTED_SINCE = 16
#: Ten lookups a transaction are seen in a profile of the server; a few are those of a single snapshot.
LOOKUPS_MIN, PER_TRANSACTION_MIN = 10_000, 10.0
#: A session that has overflowed now is seen itself, so the lookups need not show it: one a transaction is its work.
OVERFLOWED_PER_TRANSACTION_MIN = 1.0
#: Of the samples of active sessions: below a twentieth nobody notices.
WAIT_SHARE_MIN = 0.05
_CLAIM = TimeClaim(waits=("LWLock:SubtransSLRU", "LWLock:SubtransBuffer"))


def _detect(case: Case) -> Iterator[Seen]:
    use = slru_use(case, "subtransaction")
    overflowed = any(one.overflowed for one in case.snapshot.subtransactions)
    per_transaction = OVERFLOWED_PER_TRANSACTION_MIN if overflowed else PER_TRANSACTION_MIN
    looked = use is not None and use.lookups >= LOOKUPS_MIN and use.lookups_per_transaction >= per_transaction
    waits = (time_share(case, _CLAIM) or 0.0) >= WAIT_SHARE_MIN
    if not looked and not waits:
        return
    seen = False
    for one in case.snapshot.subtransactions:
        if one.overflowed:
            seen = True
            yield _of_session(case, one, use)
    # Since 16 the lookups that were counted are over when no session has overflowed; before, nobody shows it.
    if not seen and (waits or case.major < _COUNTED_SINCE):
        yield Seen(
            subject="subtransactions",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            evidence=(Evidence(kind=SubjectKind.SERVER, name="subtransaction cache", facts=_facts(use)),),
            claim=_CLAIM,
            treatments=(AVOID_SUBTRANSACTIONS,),
        )


def _of_session(case: Case, one: SubtransactionCount, use: SlruUse | None) -> Seen:
    count = Fact(name="subtransactions", value=f"{one.subtransactions} and more")
    session = case.session(one.pid)
    evidence = (
        session_evidence(session, count)
        if session is not None
        else Evidence(kind=SubjectKind.SESSION, name=f"session {one.pid}", pid=one.pid, facts=(count,))
    )
    return Seen(
        subject=session_name(session) if session is not None else f"session {one.pid}",
        severity=Severity.WARNING,
        evidence=(evidence, Evidence(kind=SubjectKind.SERVER, name="subtransaction cache", facts=_facts(use))),
        claim=_CLAIM,
        treatments=(
            end_session(one.pid, title="end the session", risk="its transaction is rolled back"),
            AVOID_SUBTRANSACTIONS,
        ),
    )


def _facts(use: SlruUse | None) -> tuple[Fact, ...]:
    if use is None:
        return ()
    return (
        Fact(name="lookups", value=use.lookups, unit=Unit.COUNT),
        Fact(name="lookups a transaction", value=use.lookups_per_transaction, unit=Unit.RATIO),
        Fact(name="counted for", value=use.seconds, unit=Unit.SECONDS),
    )


PATHOLOGY = Pathology(
    name="subtransaction-overflow",
    title="a transaction with many subtransactions slows all snapshots",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="Shared memory has room for 64 subtransactions of a session. While one has more, every snapshot of every "
    "session is incomplete, and each row that a recent transaction wrote needs a lookup in pg_subtrans.",
    threshold="10 lookups a transaction (one while a session is seen to have overflowed), or a twentieth of "
    "the samples in waits for that cache: fewer lookups are not "
    "seen in a profile. Measured: 2.0x less throughput on 13 and 1.4x on 17 with 200 subtransactions.",
    references=(
        "https://www.postgresql.org/docs/current/subxacts.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-SLRU-VIEW",
    ),
    detect=_detect,
    explains=("slru-misses",),
    needs=("counters.slru", "sessions"),
    no_proof="a twin replays no savepoints; the lookups end with the transaction",
)
