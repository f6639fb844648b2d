"""SQL, statements, plans and the cause graph in a browser: copied, sorted, opened, linked, at both widths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from fixtures.checkups import HELD, SICK, SNAPSHOT
from fixtures.chromium import needs_chromium, opened
from fixtures.drawn import drawn_of
from fixtures.planned import judge
from fixtures.records import StudyRun, run_info
from fixtures.statements import Counted, events_of, plan, script, sent, statistics
from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan
from pgclinic.model.query_plan import PlanNode
from pgclinic.model.trial import TrialRecord
from pgclinic.report.kinds import checkup_page, study_page
from pgclinic.report.reported import ReportedCheckup, ReportedStudy

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

TABLE = '"<script>window.ran = 1</script>"'
LONG = f"select id, amount, placed_at\n  from {TABLE}\n where customer_id = $1 and note <> 'it''s'"
COUNTED = (
    Counted(11, LONG, calls=50, total_ms=900.0),
    Counted(12, "select 1", calls=4000, total_ms=80.0),
    Counted(13, "select 2 from accounts", calls=300, total_ms=500.0),
)
INDEX = 'Index Scan using "<img src=x onerror=1>" on accounts  (cost=0.28..8.29 rows=1 width=4)'
SEQUENTIAL = "Seq Scan on accounts  (cost=0.00..20.50 rows=1 width=4)"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = StudyRun(blocks=2)
    trials, seconds = run.make()

    def with_statements(trial: TrialRecord) -> TrialRecord:
        assert trial.load is not None
        logged = plan(LONG, INDEX if trial.spec.arm == "held" else SEQUENTIAL, query_id=11, ms=2.0)
        own = replace(trial.load, scripts=(script(*(sent(one.text) for one in COUNTED)),))
        return replace(trial, samples=statistics(*COUNTED), events=events_of(logged), load=own)

    trials = tuple(map(with_statements, trials))
    path = tmp_path_factory.mktemp("study") / "report.html"
    page = study_page(ReportedStudy(run_info(), run.study, trials, seconds, judge(run.study, trials), "runs/x"))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def checkup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a proof by plans that has both plans of a statement."""
    scan = PlanNode(depth=1, kind="Seq Scan", rows_planned=9.0, relation="orders", rows=9.0, loops=1.0, buffers=900.0)
    top = PlanNode(depth=0, kind="Sort", rows_planned=9.0, rows=9.0, loops=1.0, buffers=910.0)
    after = replace(scan, depth=0, kind="Index Scan", index="orders_customer_id_placed_at_idx" * 2, buffers=3.0)
    statement = StatementByPlan(
        query_id=1,
        text=LONG,
        time_share=0.9,
        plan="Sort(Seq Scan orders)",
        plan_after="Index Scan orders i",
        buffers=910.0,
        buffers_after=3.0,
        nodes=(top, scan),
        nodes_after=(after,),
    )
    proof = PlanProof(word=PlanWord.CURED, ratio=0.1, statements=(statement,), tried=1, tried_time_share=0.9, draws=4)
    held = replace(HELD, proofs=(replace(HELD.proofs[0], plans=proof),))
    path = tmp_path_factory.mktemp("checkup") / "report.html"
    shown = replace(SICK, findings=(held, *SICK.findings[1:]))
    path.write_text(checkup_page(ReportedCheckup(shown, SNAPSHOT, folder="runs/x")), encoding="utf-8")
    return path


def test_statements_are_sorted_by_click_and_by_keyboard(browser: sync_api.Browser, study: Path) -> None:
    seen = opened(browser, study, width=1280, charts=False)
    table = seen.page.locator("table.statements").first
    calls = table.get_by_role("columnheader", name="Calls")
    assert calls.get_attribute("aria-sort") is None

    def column() -> list[str]:
        return table.locator("tbody tr td:nth-child(2)").all_text_contents()

    assert column() == ["50", "300", "4,000"]
    calls.get_by_role("button").click()
    assert (column(), calls.get_attribute("aria-sort")) == (["4,000", "300", "50"], "descending")
    calls.get_by_role("button").press("Enter")
    assert (column(), calls.get_attribute("aria-sort")) == (["50", "300", "4,000"], "ascending")
    # By their text too; one column at a time says so.
    seen.page.keyboard.press("Shift+Tab")
    seen.page.keyboard.press("Space")
    assert calls.get_attribute("aria-sort") is None
    head = table.get_by_role("columnheader", name="Statement")
    assert (head.get_attribute("aria-sort"), column()) == ("ascending", ["4,000", "300", "50"])
    assert seen.complaints == []
    seen.page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_statement_is_one_line_and_opens_in_full(browser: sync_api.Browser, study: Path, width: int) -> None:
    seen = opened(browser, study, width=width, charts=False)
    row = seen.page.locator("table.statements").first.locator("tbody tr").first
    closed = row.bounding_box()
    assert closed is not None and closed["height"] < 60
    text = row.locator("th")
    place = text.bounding_box()
    assert place is not None and place["width"] > 200
    text.locator("summary").click()
    assert text.locator("pre").inner_text() == LONG
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.context.close()


def test_sql_is_copied_as_it_stands_and_never_runs(browser: sync_api.Browser, study: Path) -> None:
    seen = opened(browser, study, width=1280, charts=False)
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row = seen.page.locator("table.statements").first.locator("tbody tr").first
    row.locator("summary").click()
    copy = row.locator(".copy")
    copy.click()
    seen.page.wait_for_function("(copy) => copy.textContent === 'Copied'", arg=copy.element_handle())
    assert seen.page.evaluate("navigator.clipboard.readText()") == LONG
    assert row.locator("pre .kw").first.inner_text() == "select"
    assert seen.page.evaluate("window.ran") is None
    assert seen.page.locator("main img, main script").count() == 0
    assert seen.requests == []
    seen.page.context.close()


def test_plans_that_differ_stand_beside_each_other_or_below_on_a_phone(browser: sync_api.Browser, study: Path) -> None:
    for width, beside in ((1280, True), (390, False)):
        seen = opened(browser, study, width=width, charts=False)
        first, second = seen.page.locator("#plans ~ .of .plan").all()
        assert [one.locator("h4").inner_text() for one in (first, second)] == ["free", "held"]
        assert (
            second.locator(".tree")
            .inner_text()
            .startswith("Index Scan using <img src=x onerror=1> on accounts other node")
        )
        places = first.bounding_box(), second.bounding_box()
        assert places[0] is not None and places[1] is not None
        assert (places[0]["y"] == places[1]["y"]) is beside
        assert (places[0]["x"] == places[1]["x"]) is not beside
        seen.page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_box_of_the_graph_leads_to_its_finding(browser: sync_api.Browser, checkup: Path, width: int) -> None:
    seen = opened(browser, checkup, width=width, charts=False)
    boxes = seen.page.locator(".graph a")
    assert boxes.count() >= 3
    assert seen.page.locator(".graph .arrow").count() >= 2
    # No text is wider than its box.
    assert (
        seen.page.evaluate(
            """() => [...document.querySelectorAll(".graph a")].filter((one) => {
          const box = one.querySelector("rect").getBBox(), text = one.querySelector("text").getBBox();
          return text.x < box.x || text.x + text.width > box.x + box.width || text.y + text.height > box.y + box.height;
        }).length"""
        )
        == 0
    )
    target = boxes.first.get_attribute("href")
    boxes.first.focus()
    seen.page.keyboard.press("Enter")
    assert seen.page.evaluate("location.hash") == target
    assert seen.page.locator(str(target)).count() == 1
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.context.close()


@pytest.mark.parametrize("scheme", drawn_of("plans and statements", ["light", "dark"]))
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["study", "checkup"])
def test_nothing_serious_and_nothing_overflows(
    browser: sync_api.Browser, study: Path, checkup: Path, name: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen = opened(browser, {"study": study, "checkup": checkup}[name], width=width, scheme=scheme, charts=False)
    seen.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    violations = Axe().run(seen.page).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")
    ] == []
    seen.page.context.close()
