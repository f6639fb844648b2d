"""archive_timeout archives segments that are almost empty."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.archive_lag import archives
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import wal_written
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: The manual calls a minute or so reasonable.
TIMEOUT_S = 60.0
#: Of a segment: fuller ones would be archived soon anyway.
FILLED_SHARE = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    timeout_s, written = case.number("archive_timeout") or 0.0, wal_written(case)
    if not 0.0 < timeout_s < TIMEOUT_S or not archives(case) or written is None:
        return
    segment = case.snapshot.server.wal_segment_bytes
    filled = written.bytes_per_s * timeout_s / segment
    if filled >= FILLED_SHARE:
        return
    yield Seen(
        subject="archive_timeout",
        severity=Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "archive_timeout",
                Fact(name="WAL in an archived segment", value=filled, unit=Unit.SHARE),
                Fact(name="WAL", value=written.bytes_per_s, unit=Unit.BYTES_PER_S),
            ),
        ),
        cost=Cost(
            kind=CostKind.WAL_BYTES_PER_S,
            value=(1.0 - filled) * segment / timeout_s,
            basis=(Fact(name="segment", value=segment, unit=Unit.BYTES),),
        ),
        treatments=(
            change_settings(
                case,
                {"archive_timeout": "1min"},
                title="a segment a minute",
                risk="a disaster loses up to a minute of commits that no standby has; streaming to a standby or "
                "pg_receivewal loses less and archives full segments",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="archive-timeout-short",
    title="archive_timeout archives segments that are almost empty",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="Every archive_timeout the server ends the segment that it writes, however little is in it, and the "
    "archive gets a file of full size. Each such segment also counts towards max_wal_size.",
    threshold="Below the minute that the manual calls reasonable, while less than half of a segment is written in that "
    "time: fuller segments would be archived soon anyway.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-ARCHIVE-TIMEOUT",),
    detect=_detect,
    explains=("archiving-behind",),
    needs=("counters.archiver",),
    no_proof="what it costs is space in the archive, which a twin does not have",
)
