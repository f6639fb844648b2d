"""The shared lock table has little room left: the next transaction with many locks fails."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, session_evidence, setting_evidence
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, Unit

#: Two thirds in use leave room for one more of the largest users; nine tenths for none.
USED_MIN, USED_CRITICAL = 0.66, 0.9
#: What is grown at all is made four times as large: an entry takes less than a kilobyte.
_FACTOR = 4
_LARGEST_NAMED = 5
#: All processes that may hold locks share the table.
_PROCESSES = ("max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions")


def _detect(case: Case) -> Iterator[Seen]:
    room = _room(case)
    for locks in case.snapshot.lock_table:
        used = locks.objects / room if room else 0.0
        if used < USED_MIN:
            continue
        per_transaction = case.number("max_locks_per_transaction") or 64.0
        yield Seen(
            subject="lock table",
            severity=Severity.CRITICAL if used >= USED_CRITICAL else Severity.WARNING,
            evidence=(
                Evidence(
                    kind=SubjectKind.SERVER,
                    name="lock table",
                    facts=(
                        Fact(name="locked objects", value=locks.objects, unit=Unit.COUNT),
                        Fact(name="room for", value=int(room), unit=Unit.COUNT),
                        Fact(name="in use", value=used, unit=Unit.SHARE),
                    ),
                ),
                setting_evidence(case, "max_locks_per_transaction"),
                *_largest(case),
            ),
            treatments=(
                change_settings(
                    case,
                    {"max_locks_per_transaction": str(int(per_transaction) * _FACTOR)},
                    title="enlarge the lock table",
                    risk="takes a little more shared memory; the server must be restarted, and standbys before it",
                ),
            ),
        )


def _room(case: Case) -> float:
    """How many objects the table has room for, without the reserve that it shares with others."""
    workers = case.number("autovacuum_worker_slots") or case.number("autovacuum_max_workers") or 0.0
    processes = 1.0 + workers + sum(case.number(name) or 0.0 for name in _PROCESSES)
    return processes * (case.number("max_locks_per_transaction") or 0.0)


def _largest(case: Case) -> Iterator[Evidence]:
    ranked = sorted(case.snapshot.lock_counts, key=lambda one: one.locks, reverse=True)
    for one in ranked[:_LARGEST_NAMED]:
        session = case.session(one.pid)
        if session is not None:
            yield session_evidence(session, Fact(name="locks", value=one.locks, unit=Unit.COUNT))


PATHOLOGY = Pathology(
    name="lock-table-nearly-full",
    title="the lock table is nearly full",
    area=Area.LOCKS,
    role=Role.SYMPTOM,
    mechanism="All sessions share one lock table, with room for max_locks_per_transaction objects for each process "
    "that may run. When it is full any statement fails with out of shared memory, whoever took the locks.",
    threshold="Two thirds in use: then one more session like the largest may fill it. Below, there is room for peaks.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-locks.html#GUC-MAX-LOCKS-PER-TRANSACTION",
        "https://www.postgresql.org/docs/current/view-pg-locks.html",
    ),
    detect=_detect,
    needs=("lock_table", "settings"),
    no_proof="it costs no time until it fails; a larger table is not faster",
)
