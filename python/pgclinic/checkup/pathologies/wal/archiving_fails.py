"""The archive command fails: WAL stays and backups end where it stopped."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.archive_lag import archive_lag_bytes, archives
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.checkup.wal_history import wal_room, wal_written
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

#: With fewer days left somebody has to act today.
DAYS_CRITICAL = 1.0
_DAY_S = 86_400.0


def _detect(case: Case) -> Iterator[Seen]:
    for one in case.snapshot.counters.archiver:
        if not one.failed or one.last_failed_epoch_s is None or not archives(case):
            continue
        if (one.last_archived_epoch_s or 0.0) > one.last_failed_epoch_s:
            continue
        cost = _cost(case)
        ends_soon = cost is not None and cost.kind is CostKind.DAYS_LEFT and cost.value < DAYS_CRITICAL
        last = one.last_archived_epoch_s
        now = case.snapshot.server.clock_epoch_s
        since = () if last is None else (Fact(name="last success", value=now - last, unit=Unit.SECONDS),)
        command = "archive_library" if case.word("archive_library") else "archive_command"
        yield Seen(
            subject="the archive",
            severity=Severity.CRITICAL if ends_soon else Severity.WARNING,
            evidence=(
                setting_evidence(
                    case,
                    command,
                    Fact(name="failures", value=one.failed, unit=Unit.COUNT),
                    Fact(name="last failure", value=now - one.last_failed_epoch_s, unit=Unit.SECONDS),
                    *since,
                ),
            ),
            cost=cost,
            treatments=(
                Treatment(
                    title=f"correct {command} or its destination; the server's log has the message of each failure",
                    applies=Applies.APPLICATION,
                    risk="a command that reports success without a copy breaks every backup",
                ),
            ),
        )


def _cost(case: Case) -> Cost | None:
    """Days until the disk is full, or without the machine the WAL that waits."""
    room, written = wal_room(case), wal_written(case)
    if room is not None and written is not None and written.bytes_per_s:
        return Cost(
            kind=CostKind.DAYS_LEFT,
            value=room / written.bytes_per_s / _DAY_S,
            basis=(
                Fact(name="free on the disk of pg_wal", value=room, unit=Unit.BYTES),
                Fact(name="WAL", value=written.bytes_per_s, unit=Unit.BYTES_PER_S),
            ),
        )
    waiting = archive_lag_bytes(case)
    return Cost(kind=CostKind.SPACE_BYTES, value=waiting) if waiting else None


PATHOLOGY = Pathology(
    name="archiving-fails",
    title="WAL cannot be archived",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="A segment that is not archived stays in pg_wal until archive_command or archive_library succeeds. "
    "pg_wal grows until the disk is full and the server stops, and no backup can be restored to a moment after the "
    "last success.",
    threshold="The last attempt failed: the server repeats a failed one until it succeeds, and one success later than "
    "the last failure is a healthy archive. Critical if the disk is full within a day.",
    references=(
        "https://www.postgresql.org/docs/current/continuous-archiving.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ARCHIVER-VIEW",
    ),
    detect=_detect,
    explains=("archiving-behind", "disk-nearly-full", "wal-kept"),
    needs=("counters.archiver",),
    no_proof="what fails is outside the server, and a twin does not have it",
)
