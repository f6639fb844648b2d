"""What ``checkup`` and ``treat`` print and write."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.checkups import DEAD_ROWS, DROPPED, FULL_PAGES, HEALTHY, HELD, PAGED, SICK, SNAPSHOT, UNUSED
from fixtures.page_text import without_spans
from fixtures.snapshots import Snapshots, page_sections
from pgclinic.checkup.changes import compare_checkups
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Health, Severity
from pgclinic.report.exports.prometheus import prometheus
from pgclinic.report.exports.treatment import treatment_conf, treatment_sql
from pgclinic.report.kinds import checkup_markdown, checkup_page
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.text import graph_dot, graph_text
from pgclinic.report.sections.changes.text import changes_text
from pgclinic.report.sections.findings.text import CheckupPlaces, checkup_text

PLACES = CheckupPlaces(folder="runs/2026-11-22-checkup-shop", report="runs/2026-11-22-checkup-shop/report.html")
WATCH = replace(SICK, health=Health.WATCH, findings=(FULL_PAGES,), active_sessions=None)
#: What the areas of the catalog are is no matter of the screen.
AREAS = "in "


def without_areas(text: str) -> str:
    """The catalog grows; which areas it has is not what these snapshots hold."""
    lines = text.splitlines()
    kept, inside = [], False
    for line in lines:
        inside = line.strip().startswith(AREAS) or (inside and line.startswith(" " * 13))
        if not inside:
            kept.append(line)
    return "\n".join(kept)


@pytest.mark.parametrize(
    ("name", "checkup", "full"),
    [("sick", SICK, False), ("sick-in-full", SICK, True), ("watch", WATCH, False), ("healthy", HEALTHY, False)],
)
def test_text(name: str, checkup: Checkup, full: bool, snapshots: Snapshots) -> None:
    snapshots.check(name, without_areas(checkup_text(checkup, PLACES, full=full)))


def test_a_narrow_terminal(snapshots: Snapshots) -> None:
    text = checkup_text(replace(SICK, findings=(HELD, DEAD_ROWS)), width=60)
    assert max(len(line) for line in text.splitlines()) <= 60 + len("treat") + len(
        "idle_in_transaction_session_timeout"
    )
    snapshots.check("narrow", text)


def test_changes(snapshots: Snapshots) -> None:
    cheaper = replace(UNUSED[0], cost=replace(UNUSED[0].cost, value=1e6) if UNUSED[0].cost else None)
    milder = replace(HELD, severity=Severity.WARNING)
    later = replace(SICK, health=Health.SICK, findings=(milder, cheaper, *UNUSED[1:], DEAD_ROWS))
    snapshots.check("changes-better", changes_text(compare_checkups(SICK, later)))
    snapshots.check("changes-worse", changes_text(compare_checkups(later, SICK)))
    snapshots.check("changes-of-the-same", changes_text(compare_checkups(SICK, SICK)))


def test_graph(snapshots: Snapshots) -> None:
    snapshots.check("graph", graph_text(SICK))
    snapshots.check("graph-dot", graph_dot(SICK))
    snapshots.check("graph-of-nothing", graph_text(HEALTHY))


def test_prometheus(snapshots: Snapshots) -> None:
    snapshots.check("prometheus", prometheus(SICK))
    snapshots.check("prometheus-healthy", prometheus(HEALTHY))


def test_markdown(snapshots: Snapshots) -> None:
    snapshots.check(
        "markdown", checkup_markdown(ReportedCheckup(SICK, SNAPSHOT, compare_checkups(HEALTHY, SICK), PLACES.folder))
    )
    snapshots.check("markdown-healthy", checkup_markdown(ReportedCheckup(HEALTHY, SNAPSHOT, None, None)))


@pytest.mark.parametrize(
    ("name", "finding", "number"), [("statement", HELD, 0), ("index", UNUSED[0], 0), ("settings", FULL_PAGES, 0)]
)
def test_treatment(name: str, finding: Finding, number: int, snapshots: Snapshots) -> None:
    snapshots.check(f"treatment-{name}", treatment_sql(SICK, finding, finding.treatments[number]))


@pytest.mark.parametrize(("name", "finding"), [(str(number), one) for number, one in enumerate((*PAGED, DROPPED))])
def test_statements_that_are_written_anew(name: str, finding: Finding, snapshots: Snapshots) -> None:
    """Terminal, Markdown, file of the treatment and page of one finding; no statement that was not checked."""
    checkup = replace(SICK, health=Health.SICK, findings=(finding,), gaps=(), unchecked=())
    parts = [without_areas(checkup_text(checkup, full=full)) for full in (False, True)]
    parts.append(checkup_markdown(ReportedCheckup(checkup, SNAPSHOT, None, None)))
    parts += [treatment_sql(checkup, finding, treatment) for treatment in finding.treatments]
    page = without_spans(checkup_page(ReportedCheckup(checkup, SNAPSHOT)))
    rewrite = finding.treatments[0].rewrite if finding.treatments else None
    assert ("(credit, id) &lt; ($2, $3)" in page) is (rewrite is not None and rewrite.statement is not None)
    snapshots.check(f"rewrite-{name}", "\n\n".join(parts))


def test_treatment_of_settings(snapshots: Snapshots) -> None:
    snapshots.check("treatment-conf", treatment_conf(SICK, FULL_PAGES, FULL_PAGES.treatments[0]))


def test_page(snapshots: Snapshots) -> None:
    before = replace(SICK, findings=SICK.findings[1:])
    page = checkup_page(ReportedCheckup(SICK, SNAPSHOT, compare_checkups(before, SICK), PLACES.folder))
    snapshots.check_page("page", page_sections(page))
    healthy = checkup_page(ReportedCheckup(HEALTHY, SNAPSHOT))
    assert "none was found" in healthy
    assert "<article" not in healthy


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    names = "sick sick-in-full watch healthy narrow changes-better changes-worse changes-of-the-same graph graph-dot"
    names += " graph-of-nothing prometheus prometheus-healthy markdown markdown-healthy treatment-statement"
    names += " treatment-index treatment-settings treatment-conf rewrite-0 rewrite-1 rewrite-2 rewrite-3 rewrite-4"
    files = {path.stem for path in snapshots.folder.glob("*.txt")}
    assert files == set(names.split())
