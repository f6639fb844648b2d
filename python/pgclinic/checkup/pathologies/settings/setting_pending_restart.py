"""A setting was changed and waits for a restart."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment


def _detect(case: Case) -> Iterator[Seen]:
    for setting in case.snapshot.settings:
        if not setting.pending_restart:
            continue
        lines = [line for line in case.snapshot.file_settings if line.name == setting.name and line.value is not None]
        wanted = lines[-1].value if lines else None
        yield Seen(
            subject=setting.name,
            severity=Severity.NOTICE,
            evidence=(
                setting_evidence(
                    case,
                    setting.name,
                    *(() if wanted is None else (Fact(name="value in the file", value=wanted),)),
                ),
            ),
            treatments=(
                Treatment(
                    title="restart the server at a quiet time, or take the change back",
                    applies=Applies.RESTART,
                    risk="all sessions end; a value that the server cannot start with keeps it down",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="setting-pending-restart",
    title="a changed setting waits for a restart",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="The configuration files have another value than the server, which takes it at its next start. Until "
    "then the change has no effect, and after an unplanned restart the server runs with other settings than before.",
    threshold="Any setting that pg_settings marks as pending_restart.",
    references=("https://www.postgresql.org/docs/current/view-pg-settings.html",),
    detect=_detect,
    no_proof="what the new value does is another question than that it waits",
)
