"""A standby that receives nothing from its primary."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit


def _detect(case: Case) -> Iterator[Seen]:
    # A standby that is fed by an archive alone has no receiver.
    if not case.snapshot.server.in_recovery or not case.word("primary_conninfo"):
        return
    for receiver in case.snapshot.wal_receiver:
        if receiver.status is not None:
            continue
        yield Seen(
            subject="WAL receiver",
            severity=Severity.WARNING,
            evidence=(
                Evidence(
                    kind=SubjectKind.SERVER,
                    name="WAL receiver",
                    facts=(
                        Fact(name="status", value="not connected"),
                        *(
                            (Fact(name="last replayed commit", value=receiver.replayed_s, unit=Unit.SECONDS),)
                            if receiver.replayed_s is not None
                            else ()
                        ),
                    ),
                ),
                setting_evidence(case, "primary_conninfo"),
            ),
            treatments=(
                Treatment(
                    title="make the primary reachable: the log of the standby says why the connection fails",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="standby-disconnected",
    title="the standby is not connected to its primary",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="primary_conninfo names a primary, and no WAL receiver is connected to it. The standby answers queries "
    "with data that gets older, and WAL that it needs may be removed on the primary.",
    threshold="None: a standby that streams has a WAL receiver at any moment.",
    references=("https://www.postgresql.org/docs/current/warm-standby.html#STANDBY-SERVER-OPERATION",),
    detect=_detect,
    needs=("wal_receiver", "settings"),
    no_proof="a missing connection is certain and needs no measurement",
)
