"""Archiving succeeds and is slower than the WAL."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.archive_lag import archive_lag_bytes, archives
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.checkup.wal_history import wal_written
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit


def _detect(case: Case) -> Iterator[Seen]:
    behind, limit = archive_lag_bytes(case), case.number("max_wal_size")
    if behind is None or limit is None or behind <= limit or not archives(case):
        return
    written = wal_written(case)
    rate = () if written is None else (Fact(name="WAL", value=written.bytes_per_s, unit=Unit.BYTES_PER_S),)
    command = "archive_library" if case.word("archive_library") else "archive_command"
    yield Seen(
        subject="the archive",
        severity=Severity.WARNING,
        evidence=(
            setting_evidence(case, command, Fact(name="WAL that waits", value=behind, unit=Unit.BYTES), *rate),
            setting_evidence(case, "max_wal_size"),
        ),
        cost=Cost(kind=CostKind.SPACE_BYTES, value=behind),
        treatments=(
            Treatment(
                title=f"a faster {command}: several segments at a time (as pgBackRest and WAL-G do), a faster "
                "destination, or less WAL",
                applies=Applies.APPLICATION,
                risk="a command that returns before the copy is safe breaks every backup",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="archiving-behind",
    title="archiving is slower than the WAL that is written",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="The archiver copies one segment after the other, and a segment that is not archived stays in pg_wal. If "
    "copying takes longer than writing, pg_wal grows, and a disaster loses the whole backlog.",
    threshold="A backlog above max_wal_size: up to that pg_wal keeps segments anyway until the next checkpoint.",
    references=("https://www.postgresql.org/docs/current/continuous-archiving.html",),
    detect=_detect,
    explains=("disk-nearly-full",),
    needs=("counters.archiver",),
    no_proof="what is slow is outside the server, and a twin does not have it",
)
