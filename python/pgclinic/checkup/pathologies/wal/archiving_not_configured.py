"""archive_mode is on and nothing says how to archive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.archive_lag import archives
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import wal_room
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit


def _detect(case: Case) -> Iterator[Seen]:
    if not archives(case) or case.word("archive_command") or case.word("archive_library"):
        return
    kept = next((file.bytes for file in case.snapshot.wal_files), None)
    room = wal_room(case)
    known = (
        *(() if kept is None else (Fact(name="pg_wal", value=kept, unit=Unit.BYTES),)),
        *(() if room is None else (Fact(name="free on its disk", value=room, unit=Unit.BYTES),)),
    )
    yield Seen(
        subject="archive_mode",
        severity=Severity.WARNING,
        evidence=(setting_evidence(case, "archive_mode", *known), setting_evidence(case, "archive_command")),
        cost=None if kept is None else Cost(kind=CostKind.SPACE_BYTES, value=kept),
        treatments=(
            change_settings(
                case,
                {"archive_command": "/bin/true"},
                title="keep archive_mode and archive nothing, until a command is set",
                risk="WAL of that time is in no archive: take a base backup when archiving starts",
            ),
            change_settings(
                case, {"archive_mode": "off"}, title="turn archiving off", risk="backups have no WAL to replay"
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="archiving-not-configured",
    title="archive_mode is on without a command: WAL is never removed",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="With archive_mode on every segment waits for its archiving. Without archive_command and archive_library "
    "none is ever archived, so pg_wal grows until the disk is full and the server stops.",
    threshold="Any server with archive_mode on and neither of the two: each segment that is written stays.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-ARCHIVE-COMMAND",),
    detect=_detect,
    explains=("disk-nearly-full", "wal-kept"),
    no_proof="what it costs is disk space over days, which needs no experiment",
)
