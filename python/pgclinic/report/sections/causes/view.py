"""Which finding explains which, for the page."""

from __future__ import annotations

from pgclinic.model.finding import Finding
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.text import explained, numbers
from pgclinic.report.words.findings import headline

Branch = tuple[int, int, str, str]


def causes_view(one: ReportedCheckup) -> tuple[Branch, ...] | None:
    """Depth, number, severity and headline of each finding that explains or is explained, causes first."""
    checkup = one.checkup
    numbered = numbers(checkup)
    rows: list[tuple[int, int, str, str]] = []

    def add(one: Finding, depth: int) -> None:
        rows.append((depth, numbered[one.key], one.severity.value, headline(one)))
        for symptom in explained(checkup, one):
            add(symptom, depth + 1)

    for cause in checkup.causes:
        if explained(checkup, cause):
            add(cause, 0)
    return tuple(rows) or None
