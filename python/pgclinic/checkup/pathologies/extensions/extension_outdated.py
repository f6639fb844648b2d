"""An extension whose objects are of an older version than its files."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment
from pgclinic.sql.quoting import identifier


def _detect(case: Case) -> Iterator[Seen]:
    for extension in case.snapshot.extensions:
        if extension.available is None or extension.available == extension.version:
            continue
        yield Seen(
            subject=f"extension {extension.name}",
            severity=Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.EXTENSION,
                    name=extension.name,
                    facts=(
                        Fact(name="version", value=extension.version),
                        Fact(name="version of its files", value=extension.available),
                    ),
                ),
            ),
            treatments=(
                Treatment(
                    title="update the extension",
                    applies=Applies.STATEMENT,
                    sql=(f"alter extension {identifier(extension.name)} update",),
                    lock="AccessExclusiveLock on objects of the extension that change",
                    risk="views and functions of the extension may change; read its release notes",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="extension-outdated",
    title="an extension is older than its files",
    area=Area.EXTENSIONS,
    role=Role.CAUSE,
    mechanism="The files of the extension were updated with the server, its objects in this database were not. "
    "Columns, functions and fixes of the new version are missing here.",
    threshold="None: the versions differ. It costs no time, so it is a notice.",
    references=("https://www.postgresql.org/docs/current/sql-alterextension.html",),
    detect=_detect,
    needs=("extensions",),
    no_proof="what the new version changes is in its release notes",
)
