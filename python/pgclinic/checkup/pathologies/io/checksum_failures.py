"""Pages were read whose checksum is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit


def _detect(case: Case) -> Iterator[Seen]:
    for database in case.snapshot.counters.databases:
        if not database.checksum_failures:
            continue
        yield Seen(
            subject=f"database {database.name}",
            severity=Severity.CRITICAL,
            evidence=(
                Evidence(
                    kind=SubjectKind.DATABASE,
                    name=database.name,
                    facts=(Fact(name="checksum failures", value=database.checksum_failures, unit=Unit.COUNT),),
                ),
            ),
            treatments=(
                Treatment(
                    title="find the files in the server's log (page verification failed), check the disk and its "
                    "controller, and restore them from a backup or a standby; then pg_stat_reset() sets the counter "
                    "to 0",
                    applies=Applies.MACHINE,
                    risk="zero_damaged_pages and ignore_checksum_failure make data readable and lose rows for ever",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="checksum-failures",
    title="pages with a wrong checksum were read",
    area=Area.IO,
    role=Role.CAUSE,
    mechanism="The server computes a checksum of every page that it writes and verifies it when it reads the page. A "
    "wrong one means that the disk, its controller or the operating system returned other bytes than were written.",
    threshold="One: a disk that works never returns other bytes.",
    references=(
        "https://www.postgresql.org/docs/current/checksums.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW",
    ),
    detect=_detect,
    needs=("counters.databases",),
    no_proof="a twin has none of the damaged pages",
)
