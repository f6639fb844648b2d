"""fsync is off."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Role, Severity


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("fsync") != "off":
        return
    yield Seen(
        subject="fsync",
        severity=Severity.CRITICAL,
        evidence=(setting_evidence(case, "fsync"),),
        treatments=(
            change_settings(
                case,
                {"fsync": "on"},
                title="flush what must be on disk",
                risk="commits take the time of a flush again. Files written before are not flushed by it: run "
                "initdb --sync-only after a clean shutdown, or sync on the machine",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="fsync-off",
    title="fsync is off: a crash of the machine destroys the cluster",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="Without fsync the server never waits until WAL or data are on disk. After a power failure or a crash of "
    "the operating system files are of different times, WAL cannot repair them, and the cluster has to be restored "
    "from a backup.",
    threshold="off. There is no load for which it is needed: synchronous_commit = off saves the same waits and loses "
    "at most the last commits.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FSYNC",),
    detect=_detect,
    no_proof="what it risks shows in a crash of the machine alone",
)
