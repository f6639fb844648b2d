"""Settings for the rescue of damaged data are still on."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Role, Severity

RESCUE = ("zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages", "ignore_system_indexes")


def _detect(case: Case) -> Iterator[Seen]:
    for name in RESCUE:
        if not case.is_on(name):
            continue
        yield Seen(
            subject=name,
            severity=Severity.WARNING,
            evidence=(setting_evidence(case, name),),
            treatments=(
                change_settings(
                    case, {name: "off"}, title="let damage fail again", risk="statements that read damage fail"
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="damaged-pages-ignored",
    title="damaged pages are ignored",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="These settings let a server read on where data are damaged: zero_damaged_pages and ignore_invalid_pages "
    "lose the rows of such pages for ever, ignore_checksum_failure returns them as they are, and "
    "ignore_system_indexes reads whole catalogs. They are meant for one session that rescues data.",
    threshold="On for the server: new damage then shows in results and nowhere else.",
    references=("https://www.postgresql.org/docs/current/runtime-config-developer.html",),
    detect=_detect,
    no_proof="what they risk shows on damaged data alone",
)
