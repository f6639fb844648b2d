"""A file system that the server writes to is nearly full."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.wal_volume import wal_needed_bytes
from pgclinic.model.finding import Area, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.host import HostFilesystem

#: A tenth of a small disk is used up in hours; of a large one 100 GB are a long time.
FREE_WARNING, FREE_BYTES = 0.10, 100 * 1024**3
#: One VACUUM FULL, one CREATE INDEX or one large sort away from an outage.
FREE_CRITICAL = 0.02
INODES_MIN = 1_000


def _detect(case: Case) -> Iterator[Seen]:
    if case.host is None:
        return
    for filesystem in case.host.filesystems:
        severity = _severity(case, filesystem)
        if severity is None:
            continue
        yield Seen(
            subject=f"file system of {filesystem.holds}",
            severity=severity,
            evidence=(
                machine(
                    filesystem.path,
                    (
                        Fact(name="holds", value=filesystem.holds),
                        Fact(name="file system", value=filesystem.kind),
                        *sizes(size=filesystem.bytes, free=filesystem.bytes_free),
                        Fact(name="free", value=filesystem.bytes_free / max(filesystem.bytes, 1), unit=Unit.SHARE),
                        *(
                            (Fact(name="free inodes", value=filesystem.inodes_free, unit=Unit.COUNT),)
                            if filesystem.inodes_free is not None
                            else ()
                        ),
                    ),
                ),
            ),
            treatments=_treatments(filesystem),
        )


def _severity(case: Case, one: HostFilesystem) -> Severity | None:
    share = one.bytes_free / max(one.bytes, 1)
    no_inodes = one.inodes_free is not None and one.inodes_free < INODES_MIN
    if share < FREE_CRITICAL or no_inodes:
        return Severity.CRITICAL
    # Until the next checkpoint has removed old WAL, pg_wal may grow by max_wal_size.
    if "WAL" in one.holds.split(", ") and one.bytes_free < wal_needed_bytes(case):
        return Severity.WARNING
    return Severity.WARNING if share < FREE_WARNING and one.bytes_free < FREE_BYTES else None


def _treatments(one: HostFilesystem) -> tuple[Treatment, ...]:
    first = administer("enlarge the file system, or add a tablespace on another one", risk="none while it is online")
    found = administer(
        "find what grew: WAL that slots or a failing archive_command keep, old logs, temporary files, bloated tables",
        risk="never remove files of pg_wal by hand: the server would not start",
    )
    return (first, found)


PATHOLOGY = Pathology(
    name="disk-nearly-full",
    title="a file system is nearly full",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism="When the file system of pg_wal is full the server stops with a PANIC, and cannot recover before there "
    "is room. When that of the data is full, writes and sorts fail.",
    threshold="Less than 10 % and less than 100 GB free, or for pg_wal less than max_wal_size; critical from 2 % down, "
    "which one sort or one index build uses up.",
    references=(
        "https://www.postgresql.org/docs/current/diskusage.html#DISK-FULL",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ),
    detect=_detect,
    needs=("host",),
    no_proof="it is certain and needs no measurement",
)
