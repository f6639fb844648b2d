"""Much of the time of sessions is waiting for flushes of the WAL."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.sampled_waits import WAL_SYNC, WAL_WRITE, WAL_WRITE_LOCK, wait_claim, wait_cost, waiting_share
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit

#: Less is what short transactions on any disk show.
WAIT_SHARE = 0.3
#: A flush of a disk with a write cache that survives a power failure takes below 1 ms, of a spinning one below 10 ms.
SYNC_MS = 10.0
_EVENTS = (*WAL_SYNC, *WAL_WRITE, *WAL_WRITE_LOCK)


def _detect(case: Case) -> Iterator[Seen]:
    share = waiting_share(case, *_EVENTS)
    if share < WAIT_SHARE:
        return
    sync_ms = _sync_ms(case)
    measured = () if sync_ms is None else (Fact(name="mean flush of WAL", value=sync_ms, unit=Unit.MILLISECONDS),)
    yield Seen(
        subject="commits",
        severity=Severity.WARNING if sync_ms is not None and sync_ms >= SYNC_MS else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "synchronous_commit",
                Fact(name="share of time waiting for WAL", value=share, unit=Unit.SHARE),
                *measured,
            ),
        ),
        cost=wait_cost(case, *_EVENTS),
        claim=wait_claim(*_EVENTS),
        treatments=(
            Treatment(
                title="more changes in each transaction, so that fewer commits flush; set local synchronous_commit to "
                "off in transactions whose loss in a crash does not matter",
                applies=Applies.APPLICATION,
                risk="a transaction without a synchronous commit can be lost in a crash, but the database stays "
                "consistent",
            ),
        ),
    )


def _sync_ms(case: Case) -> float | None:
    """Known where WAL I/O is timed."""
    for one in case.snapshot.counters.wal:
        if one.syncs and one.sync_ms and case.is_on("track_wal_io_timing"):
            return one.sync_ms / one.syncs
    return None


PATHOLOGY = Pathology(
    name="commits-wait-for-sync",
    title="commits wait for flushes of the WAL",
    area=Area.WAL,
    role=Role.SYMPTOM,
    mechanism="A commit returns when its WAL is on disk. With short transactions the flush is most of their time, and "
    "throughput is bounded by the flushes that the disk can do.",
    threshold="30 % of the time of active sessions: below that commits without any flush would bring less than half as "
    "much again. A warning from 10 ms for a flush on, which is more than a single spinning disk needs; flushes are "
    "timed with track_wal_io_timing.",
    references=(
        "https://www.postgresql.org/docs/current/wal-async-commit.html",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ),
    detect=_detect,
    no_proof="which changes can share a transaction, or be lost in a crash, is known to the application alone",
)
