"""What the server was doing, in a real Chromium: panels on one axis, an arm at a time, read out all at once."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.observed import watched
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

# How many square pixels what is drawn in a colour variable takes, by the boxes around it.
DRAWN = """
(plot, name) => [...plot.querySelectorAll("path, rect")]
  .filter(one => [one.getAttribute("fill"), one.getAttribute("stroke")].includes(`var(${name})`))
  .map(one => one.getBBox())
  .reduce((sum, box) => sum + Math.max(1, box.width) * Math.max(1, box.height), 0)
"""
# Where the drawing area of every panel begins and ends.
AREAS = "all => all.map(one => { const box = one.getBoundingClientRect(); return [box.left, box.right]; })"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = global_counters()
    trials, seconds = StudyRun(free_s=20, held_s=30).make()
    trials = watched(trials)
    path = tmp_path_factory.mktemp("observed") / "report.html"
    path.write_text(
        study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), "runs/one")),
        encoding="utf-8",
    )
    return path


def drawn(seen: Seen, panel: str, name: str) -> float:
    """In the panel of that title, in the pane that is open."""
    plot = seen.page.locator(".pane:visible .panel", has_text=panel).locator(".plot").first
    return float(plot.evaluate(DRAWN, name))


def pick(seen: Seen, arm: str) -> None:
    seen.page.locator(".tabbed > label", has_text=arm).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1100])
def test_every_panel_is_drawn_on_the_same_axis(
    browser: "sync_api.Browser", report: Path, scheme: str, width: int
) -> None:
    seen = opened(browser, report, width=width, scheme=scheme)
    page = seen.page
    assert page.locator(".pane:visible").count() == 1
    assert page.locator(".pane:visible .panel svg").count() == 7
    areas = page.eval_on_selector_all(
        ".pane .plot > svg > clipPath > rect",
        "all => all.map(one => [one.x.baseVal.value, one.x.baseVal.value + one.width.baseVal.value])",
    )
    assert len(areas) == 7
    assert max(left for left, _ in areas) - min(left for left, _ in areas) < 1
    assert max(right for _, right in areas) - min(right for _, right in areas) < 1
    assert seen.requests == []
    assert seen.complaints == []
    assert drawn(seen, "Transactions", "--arm-0") > 100
    for part in ("--part-0", "--part-1", "--part-2"):
        assert drawn(seen, "Backends that are not idle", part) > 200
    # The warm-up, which no transaction line reaches.
    assert drawn(seen, "Transactions", "--faint") > 200
    page.context.close()


def test_events_cross_all_panels(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    plots = seen.page.locator(".pane:visible .plot")
    for plot in plots.all():
        # 5 s after measuring began, on an axis from -1 to 30: both arms share it.
        at = plot.evaluate(
            """plot => {
              const area = plot.querySelector("clipPath rect");
              const mark = plot.querySelector("line.mark[stroke='var(--ink)']");
              return (mark.x1.baseVal.value - area.x.baseVal.value) / area.width.baseVal.value;
            }"""
        )
        assert at == pytest.approx(6 / 31, abs=0.01)
        assert plot.locator("line.mark").count() == 2
    seen.page.context.close()


def test_another_arm_is_one_click_or_key_away(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    page = seen.page
    assert page.locator(".pane").nth(1).locator(".plot svg").count() == 0
    pick(seen, "held")
    assert not page.locator(".pane").nth(0).is_visible()
    assert page.locator(".pane:visible .panel svg").count() == 8
    assert drawn(seen, "Age of the xmin horizon", "--arm-1") > 100
    page.keyboard.press("ArrowLeft")
    assert page.locator(".pane").nth(0).is_visible()
    assert page.locator(".pane").nth(0).locator(".plot svg").count() == 7
    assert seen.complaints == []
    page.context.close()


def test_pointing_at_one_panel_reads_out_all(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    page = seen.page
    when = page.locator(".pane:visible [data-readout]")
    log = page.locator(".pane:visible .panel", has_text="Write-ahead log").locator(".value")
    assert when.inner_text() == "Figures are means while measuring."
    assert log.inner_text() == "2 MB/s"
    over = page.locator(".pane:visible .plot").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    # In the warm-up: the log was written, but no transaction was counted.
    page.mouse.move(box["x"] + 56 + (box["width"] - 68) / 62, box["y"] + box["height"] / 2)
    assert when.inner_text().startswith("Figures at second -0.")
    assert log.inner_text() == "2 MB/s"
    assert page.locator(".pane:visible .value").first.inner_text() == "-"
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
    assert page.locator(".pane:visible .value").first.inner_text().endswith("/s")
    page.mouse.move(2, 2)
    assert when.inner_text() == "Figures are means while measuring."
    page.context.close()


def test_without_a_script_the_first_arm_can_be_read(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report, script=False)
    page = seen.page
    first = page.locator(".pane").nth(0)
    assert first.is_visible()
    assert "1 checkpoint" in first.inner_text()
    assert "2 MB/s" in first.inner_text()
    assert not first.locator(".plot").first.is_visible()
    first.locator("summary").click()
    assert first.locator("table").is_visible()
    assert first.locator("tbody tr").count() == 21
    pick(seen, "held")
    assert page.locator(".pane").nth(1).is_visible()
    page.context.close()


def test_panels_follow_the_theme(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    before = seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--part-0').trim()")
    seen.page.get_by_role("button", name="Switch between light and dark").click()
    after = seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--part-0').trim()")
    assert before != after
    assert drawn(seen, "Backends that are not idle", "--part-0") > 200
    assert drawn(seen, "Transactions", "--arm-0") > 100
    seen.page.context.close()


@pytest.mark.parametrize("width", [320, 380])
def test_narrow_screens_do_not_scroll_sideways(browser: "sync_api.Browser", report: Path, width: int) -> None:
    seen = opened(browser, report, width=width)
    pick(seen, "held")
    seen.page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.context.close()
