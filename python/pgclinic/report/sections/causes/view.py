"""Which finding explains which, for the page: drawn, and as a list."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.layout import Boxed, Graph, laid_out
from pgclinic.report.sections.causes.text import explained, numbers
from pgclinic.report.words.findings import headline

#: Depth, number, severity and headline.
Branch = tuple[int, int, str, str]


@dataclass(frozen=True)
class CausesView:
    """The findings that explain or are explained. ``numbered`` and ``severities`` are by the key of a box, which is
    that of the finding; ``branches`` are the same as a list, each finding below its causes."""

    graph: Graph
    numbered: dict[str, int]
    severities: dict[str, str]
    branches: tuple[Branch, ...]


def causes_view(one: ReportedCheckup) -> CausesView | None:
    """None where no finding explains another one."""
    checkup = one.checkup
    keys = {finding.key for finding in checkup.findings}
    edges = [(cause, one.key) for one in checkup.findings for cause in one.explained_by if cause in keys]
    if not edges:
        return None
    own = {key for edge in edges for key in edge}
    shown = [finding for finding in checkup.findings if finding.key in own]
    numbered = numbers(checkup)
    boxes = [Boxed(one.key, f"{numbered[one.key]}. {one.severity.value}", headline(one)) for one in shown]
    return CausesView(
        graph=laid_out(boxes, edges),
        numbered={one.key: numbered[one.key] for one in shown},
        severities={one.key: one.severity.value for one in shown},
        branches=_branches(checkup),
    )


def _branches(checkup: Checkup) -> tuple[Branch, ...]:
    numbered = numbers(checkup)
    rows: list[Branch] = []

    def add(one: Finding, above: tuple[str, ...]) -> None:
        rows.append((len(above), numbered[one.key], one.severity.value, headline(one)))
        for symptom in explained(checkup, one):
            if symptom.key not in (*above, one.key):
                add(symptom, (*above, one.key))

    for cause in checkup.causes:
        if explained(checkup, cause):
            add(cause, ())
    return tuple(rows)
