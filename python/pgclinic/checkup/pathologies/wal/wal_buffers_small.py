"""wal_buffers is smaller than the server would make it itself, and sessions write WAL to make room."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost, waiting_share
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: What wal_buffers = -1 gives: this part of shared_buffers, and at most one segment.
AUTOMATIC_SHARE = 1 / 32
#: Fewer are a bulk load that is over.
FULL_MIN = 1_000
#: Also with enough buffers a large transaction fills some of them before the WAL writer comes by.
FULL_SHARE = 0.05
#: Before 14 nothing counts full buffers; waits for one have to be a good part of the time.
WAIT_SHARE = 0.05
_PAGE_BYTES = 8192
_FULL = ("LWLock:WALBufMapping",)


def _detect(case: Case) -> Iterator[Seen]:
    size, shared = case.number("wal_buffers"), case.number("shared_buffers")
    if size is None or shared is None:
        return
    automatic = min(float(case.snapshot.server.wal_segment_bytes), shared * AUTOMATIC_SHARE)
    if size >= automatic:
        return
    facts, confidence, part = _counted(case), Confidence.CERTAIN, 1.0
    if facts is None:
        facts, confidence, part = _sampled(case), Confidence.LIKELY, 0.5
    if facts is None:
        return
    yield Seen(
        subject="wal_buffers",
        severity=Severity.WARNING,
        confidence=confidence,
        evidence=(setting_evidence(case, "wal_buffers", *facts),),
        cost=wait_cost(case, *_FULL, "LWLock:WALWrite"),
        claim=wait_claim(*_FULL, "LWLock:WALWrite", fraction=part),
        treatments=(
            change_settings(
                case, {"wal_buffers": "16MB"}, title="one segment of WAL buffers", risk="16 MB of shared memory"
            ),
        ),
    )


def _counted(case: Case) -> tuple[Fact, ...] | None:
    for one in case.snapshot.counters.wal:
        pages = max(one.bytes / _PAGE_BYTES, 1.0)
        if one.buffers_full < FULL_MIN or one.buffers_full < FULL_SHARE * pages:
            return None
        seconds = case.since_s(one.reset_epoch_s)
        return (
            Fact(name="times that WAL buffers were full", value=one.buffers_full, unit=Unit.COUNT),
            Fact(name="for each WAL page", value=one.buffers_full / pages, unit=Unit.RATIO),
            Fact(name="times a second", value=one.buffers_full / seconds, unit=Unit.PER_S),
        )
    return None


def _sampled(case: Case) -> tuple[Fact, ...] | None:
    share = waiting_share(case, *_FULL)
    if case.snapshot.counters.wal or share < WAIT_SHARE:
        return None
    return (Fact(name="share of time waiting for a WAL buffer", value=share, unit=Unit.SHARE),)


PATHOLOGY = Pathology(
    name="wal-buffers-small",
    title="wal_buffers is too small: sessions write WAL to make room",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="A session that finds all WAL buffers full has to write the oldest page itself, under WALWriteLock, "
    "before it can insert its record. All sessions that write queue behind that write.",
    threshold="Smaller than wal_buffers = -1 would make it, and full for more than 5 % of the WAL pages: with enough "
    "buffers a bulk load also fills some before the WAL writer empties them, but then all sizes do.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-BUFFERS",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-WAL-VIEW",
    ),
    detect=_detect,
    explains=("commits-wait-for-sync",),
    proof=ProofOn.STUDY,
    study="wal-pressure",
    claims=("small-buffers-fill-up",),
)
