"""A line of a configuration file is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Treatment
from pgclinic.model.snapshot import FileSetting


def _detect(case: Case) -> Iterator[Seen]:
    pending = {setting.name for setting in case.snapshot.settings if setting.pending_restart}
    for line in case.snapshot.file_settings:
        # Without an error a later line replaces it, which is how ALTER SYSTEM works.
        if line.error is None or line.name in pending:
            continue
        waits = _waits_for_restart(case, line)
        where = f"{line.file} line {line.line}" if line.file else "the configuration files"
        yield Seen(
            subject=line.name or where,
            severity=Severity.NOTICE if waits else Severity.WARNING,
            confidence=Confidence.POSSIBLE if waits else Confidence.CERTAIN,
            evidence=(
                Evidence(
                    kind=SubjectKind.SETTING,
                    name=line.name or where,
                    file=line.file,
                    line=line.line,
                    facts=(
                        *(() if line.value is None else (Fact(name="value in the file", value=line.value),)),
                        *(() if line.name not in case.settings else (_in_force(case, line.name),)),
                        Fact(name="error", value=line.error),
                    ),
                ),
            ),
            treatments=(
                Treatment(
                    title=f"correct {where}, then reload the configuration",
                    applies=Applies.MACHINE,
                    risk="the settings that a reload changes take effect at once",
                ),
            ),
        )


def _waits_for_restart(case: Case, line: FileSetting) -> bool:
    """The file's new value of such a setting has the same error as a wrong one, until the server was reloaded."""
    found = case.settings.get(line.name)
    return found is not None and found.context == "postmaster"


def _in_force(case: Case, name: str) -> Fact:
    return Fact(name="value in force", value=case.shown(name))


PATHOLOGY = Pathology(
    name="setting-not-applied",
    title="a line of the configuration files is wrong",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="A reload ignores a file with an error, so that none of the changes in it takes effect. At the next "
    "start the same line stops the server from starting.",
    threshold="Any error in pg_file_settings, but for changes that wait for a restart. Lines that a later line "
    "replaces are not errors.",
    references=("https://www.postgresql.org/docs/current/view-pg-file-settings.html",),
    detect=_detect,
    needs=("file_settings",),
    no_proof="the server itself says that the line is wrong",
)
