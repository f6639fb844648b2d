"""A transaction with more subtransactions than fit in shared memory makes all snapshots expensive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.slru import AVOID_SUBTRANSACTIONS, SlruUse, slru_use
from pgclinic.checkup.time_shares import time_share
from pgclinic.checkup.transactions import assigned_transaction_ids
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
#: Below that they take less than a thousandth of a CPU in five seconds; of fewer than the second nobody has many.
LOOKUPS_MIN, LOOKUPS_NOTED = 10_000, 100
#: Counters since a reset may be those of another day: by this they are still those of most transactions.
PER_TRANSACTION_MIN = 1.0
#: A transaction whose subtransactions all have room writes the parent of each of 64 there.
ROOM = 64
#: Of the samples of active sessions: below a twentieth nobody notices.
WAIT_SHARE_MIN = 0.05
_CLAIM = TimeClaim(waits=("LWLock:SubtransSLRU", "LWLock:SubtransBuffer"))


def _detect(case: Case) -> Iterator[Seen]:
    use = slru_use(case, "subtransaction")
    waits = (time_share(case, _CLAIM) or 0.0) >= WAIT_SHARE_MIN
    lookups = _lookups(case, use) if use is not None else 0
    is_costly = waits or _are_felt(case, use, lookups)
    overflowed = [subtransaction for subtransaction in case.snapshot.subtransactions if subtransaction.overflowed]
    is_noted = is_costly or (bool(case.observed_s) and lookups >= LOOKUPS_NOTED)
    if overflowed and is_noted:
        severity = Severity.WARNING if is_costly else Severity.NOTICE
        yield from (replace(_of_session(case, count, use), severity=severity) for count in overflowed)
    elif not overflowed and (waits or (case.major < _COUNTED_SINCE and _shows_overflow(case, use, lookups))):
        # Since 16 the lookups that were counted are over when no session has overflowed; before, nobody shows it.
        yield Seen(
            subject="subtransactions",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            evidence=(Evidence(kind=SubjectKind.SERVER, name="subtransaction cache", facts=_facts(use)),),
            claim=_CLAIM,
            treatments=(AVOID_SUBTRANSACTIONS,),
        )


def _lookups(case: Case, use: SlruUse) -> int:
    """Without those of subtransactions that begin, each of which writes its parent; all where nobody counted these."""
    return max(use.lookups - (assigned_transaction_ids(case) or 0), 0)


def _are_felt(case: Case, use: SlruUse | None, lookups: int) -> bool:
    if use is None or lookups < LOOKUPS_MIN:
        return False
    return bool(case.observed_s) or lookups >= PER_TRANSACTION_MIN * use.transactions


def _shows_overflow(case: Case, use: SlruUse | None, lookups: int) -> bool:
    """Whether lookups alone say so: of an observation those that nobody's own subtransactions explain, else so many
    that transactions with room for all of theirs could not have made them."""
    if use is None or lookups < max(LOOKUPS_MIN, PER_TRANSACTION_MIN * use.transactions):
        return False
    return assigned_transaction_ids(case) is not None or use.lookups_per_transaction > ROOM


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
    threshold="10,000 lookups beyond those by which subtransactions begin, or a twentieth of the samples in waits for "
    "that cache; from 100 on a notice. Before 16 the session is not shown: it takes one lookup for each transaction, "
    "and without an observation more than 64, which transactions that have room for all of theirs never make. "
    "Measured: 2.0x less throughput on 13 and 1.4x on 17 with 200 subtransactions.",
    references=(
        "https://www.postgresql.org/docs/current/subxacts.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-SLRU-VIEW",
    ),
    detect=_detect,
    explains=("slru-misses",),
    needs=("counters.slru", "sessions"),
    no_proof="a twin replays no savepoints; the lookups end with the transaction",
)
