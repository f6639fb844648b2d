"""WAL is flushed by another method than the default of the platform."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import WAL_SYNC, WAL_WRITE, wait_claim, wait_cost, waiting_share
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: These make every write synchronous, one page or many.
SYNCHRONOUS_WRITES = frozenset({"open_sync", "open_datasync"})
#: Below that a faster method cannot bring back more than the noise.
WAIT_SHARE = 0.2


def _detect(case: Case) -> Iterator[Seen]:
    method = case.settings.get("wal_sync_method")
    if method is None or method.value == method.default_value or not case.is_on("fsync"):
        return
    if case.word("synchronous_commit") == "off" or method.default_value is None:
        return
    events = (*WAL_WRITE, "LWLock:WALWrite") if method.value in SYNCHRONOUS_WRITES else (*WAL_SYNC, "LWLock:WALWrite")
    share = waiting_share(case, *events)
    costs = share >= WAIT_SHARE
    yield Seen(
        subject="wal_sync_method",
        severity=Severity.WARNING if costs else Severity.NOTICE,
        # How fast a method is depends on the disk: pg_test_fsync or a trial measures it.
        confidence=Confidence.POSSIBLE,
        evidence=(
            setting_evidence(
                case,
                "wal_sync_method",
                Fact(name="share of time waiting for writes of WAL", value=share, unit=Unit.SHARE),
                *_writes(case),
            ),
        ),
        cost=wait_cost(case, *events) if costs else None,
        claim=wait_claim(*events, fraction=0.5) if costs else None,
        treatments=(
            change_settings(
                case,
                {"wal_sync_method": method.default_value},
                title="the default of this platform",
                risk="none known; pg_test_fsync compares the methods on this disk",
            ),
        ),
    )


def _writes(case: Case) -> Iterator[Fact]:
    for one in case.snapshot.counters.wal:
        if one.writes:
            yield Fact(name="WAL in a write", value=int(one.bytes / one.writes), unit=Unit.BYTES)


PATHOLOGY = Pathology(
    name="wal-sync-method-slow",
    title="wal_sync_method is not the default of the platform",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="open_sync and open_datasync make every write of WAL wait for the disk, so a commit of several pages can "
    "cost several flushes instead of one. fsync flushes the file's metadata as well, which fdatasync leaves out.",
    threshold="Another method than the default is a notice: initdb picks the one that is safe and fast on most disks. "
    "A warning if a fifth of the time of active sessions is waiting for writes of WAL.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-SYNC-METHOD",
        "https://www.postgresql.org/docs/current/pgtestfsync.html",
    ),
    detect=_detect,
    explains=("commits-wait-for-sync",),
    proof=ProofOn.TWIN,
)
