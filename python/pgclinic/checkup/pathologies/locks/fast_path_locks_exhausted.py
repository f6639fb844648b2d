"""Statements lock more relations than the fast path has places for."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.time_shares import time_share
from pgclinic.checkup.treatments import change_settings, session_evidence, setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)
from pgclinic.model.sample import Row

#: Until 17 every process has 16 places, since 18 as many as max_locks_per_transaction.
_PLACES_UNTIL_17, _FOLLOWS_SETTING_SINCE = 16, 18
#: Seen in a quarter of the samples: it is what the application does, and not one report.
SAMPLES_MIN = 0.25
#: Of the samples of active sessions: below a twentieth nobody notices.
WAIT_SHARE_MIN = 0.05
#: A transaction that is older has taken its locks once, as pg_dump does, and pays for them once.
YOUNG_S = 5.0
_CLAIM = TimeClaim(waits=("LWLock:LockManager",))
_PRUNE = Treatment(
    title="filter by the partition key, so that a statement locks the partitions that it reads and no others",
    applies=Applies.APPLICATION,
    risk="none, where the statement has the key",
)
_SESSIONS_NAMED = 3


def _detect(case: Case) -> Iterator[Seen]:
    places = _places(case)
    samples = case.snapshot.samples.of("lock_counts")
    full = [[row for row in sample.rows if _overflows(case, row, places)] for sample in samples]
    if not samples or sum(map(bool, full)) < SAMPLES_MIN * len(samples):
        return
    most = max(_count(row, "relations") for rows in full for row in rows)
    waits = (time_share(case, _CLAIM) or 0.0) >= WAIT_SHARE_MIN
    yield Seen(
        subject="fast path",
        severity=Severity.WARNING if waits else Severity.NOTICE,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name="fast path of locks",
                facts=(
                    Fact(name="places for each process", value=places, unit=Unit.COUNT),
                    Fact(name="relations locked at a time", value=most, unit=Unit.COUNT),
                    Fact(name="samples with too many", value=sum(map(bool, full)) / len(samples), unit=Unit.SHARE),
                ),
            ),
            *((setting_evidence(case, "max_locks_per_transaction"),) if _follows(case) else ()),
            *_sessions(case, [row for rows in full for row in rows]),
        ),
        claim=_CLAIM,
        treatments=(*((_more_places(case, most),) if _follows(case) else ()), _PRUNE),
    )


def _follows(case: Case) -> bool:
    return case.major >= _FOLLOWS_SETTING_SINCE


def _places(case: Case) -> int:
    return int(case.number("max_locks_per_transaction") or 64) if _follows(case) else _PLACES_UNTIL_17


def _overflows(case: Case, row: Row, places: int) -> bool:
    """A strong lock of somebody else also keeps weak ones out of the fast path, so both counts must say it."""
    pid = row.get("pid")
    session = case.session(pid) if isinstance(pid, int) else None
    young = session is None or (session.transaction_s or 0.0) < YOUNG_S
    return young and _count(row, "slow") > 0 and _count(row, "relations") > places


def _count(row: Row, name: str) -> int:
    value = row.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _sessions(case: Case, rows: list[Row]) -> Iterator[Evidence]:
    ranked = sorted(rows, key=lambda row: _count(row, "slow"), reverse=True)
    pids = list(dict.fromkeys(row.get("pid") for row in ranked))
    for pid in pids[:_SESSIONS_NAMED]:
        session = case.session(pid) if isinstance(pid, int) else None
        if session is not None:
            yield session_evidence(session)


def _more_places(case: Case, most: int) -> Treatment:
    """The next power of two, as the server rounds up to it."""
    return change_settings(
        case,
        {"max_locks_per_transaction": str(1 << (most - 1).bit_length())},
        title="give each process more places",
        risk="takes more shared memory for each connection; the server must be restarted, and standbys before it",
    )


PATHOLOGY = Pathology(
    name="fast-path-locks-exhausted",
    title="statements lock more relations than the fast path holds",
    area=Area.LOCKS,
    role=Role.SYMPTOM,
    mechanism="Ordinary locks of tables and indexes go to places that each process has for itself. What finds no place "
    "there goes to the lock table that all share, under 16 locks for which many sessions then wait.",
    threshold="A quarter of the samples, in young transactions: what is rarer are single reports. It costs when many "
    "do it at a time: a warning from a twentieth of the samples in waits for LockManager.",
    references=(
        "https://www.postgresql.org/docs/current/view-pg-locks.html",
        "https://www.postgresql.org/docs/current/runtime-config-locks.html#GUC-MAX-LOCKS-PER-TRANSACTION",
    ),
    detect=_detect,
    proof=ProofOn.TWIN,
)
