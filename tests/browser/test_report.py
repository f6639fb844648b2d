"""The report in a real Chromium, cut off from the network: it draws, fits, switches theme and asks for nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

# How long the lines of each colour are that a chart draws, in pixels.
LENGTHS = """
plot => {
  const lengths = {};
  for (const path of plot.querySelectorAll("path")) {
    const colour = getComputedStyle(path).stroke;
    lengths[colour] = (lengths[colour] || 0) + path.getTotalLength();
  }
  return lengths;
}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = global_counters()
    trials, seconds = StudyRun().make()
    path = tmp_path_factory.mktemp("run") / "report.html"
    html = study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), "runs/one"))
    path.write_text(html, encoding="utf-8")
    return path


def arm_colours(seen: Seen) -> list[str]:
    """The arms' colours of the theme in force, as computed styles have them."""
    values = [
        seen.page.evaluate("n => getComputedStyle(document.documentElement).getPropertyValue(n).trim()", name)
        for name in ("--arm-0", "--arm-1")
    ]
    return [f"rgb({', '.join(str(int(value[i : i + 2], 16)) for i in (1, 3, 5))})" for value in values]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1100])
def test_report_draws_without_network_or_complaint(
    browser: "sync_api.Browser", report: Path, scheme: str, width: int
) -> None:
    seen = opened(browser, report, width=width, scheme=scheme)
    plots = seen.page.query_selector_all(".plot")
    assert len(plots) == 5
    for plot in plots:
        drawn = plot.evaluate(LENGTHS)
        for colour in arm_colours(seen):
            assert drawn.get(colour, 0) > 100, f"an arm's line is missing in {drawn}"
    # Everything on the page has been seen by the browser once it is scrolled through.
    seen.page.mouse.wheel(0, 10_000)
    assert seen.requests == []
    assert seen.complaints == []
    seen.page.context.close()


def test_headline_is_seen_first(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    word = seen.page.locator("#headline .word")
    assert word.is_visible()
    assert "replicated" in word.inner_text().lower()
    box = word.bounding_box()
    assert box is not None
    assert box["y"] < 500
    assert "“held” finished" in seen.page.locator("#headline .sentence").inner_text()
    assert seen.page.locator("#headline svg[role=img]").get_attribute("aria-label")
    seen.page.context.close()


@pytest.mark.parametrize("width", [320, 400, 768])
def test_narrow_screens_do_not_scroll_sideways(browser: "sync_api.Browser", report: Path, width: int) -> None:
    seen = opened(browser, report, width=width)
    seen.page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.context.close()


def test_button_switches_the_theme_and_repaints(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    page = seen.page
    background = "getComputedStyle(document.body).backgroundColor"
    light, light_colours = page.evaluate(background), arm_colours(seen)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(background) != light
    dark_colours = arm_colours(seen)
    assert dark_colours != light_colours
    drawn = page.query_selector(".plot").evaluate(LENGTHS)
    assert drawn.get(dark_colours[0], 0) > 200
    assert drawn.get(light_colours[0], 0) == 0
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(background) == light
    assert seen.complaints == []
    page.context.close()


def test_pointing_at_a_chart_reads_out_both(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    plot = seen.page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.page.wait_for_function("document.querySelector('[data-readout=hits]').textContent.includes('second')")
    text = seen.page.locator("[data-readout=tps]").inner_text()
    assert "held" in text
    assert "published" in text
    seen.page.context.close()


def test_a_dark_page_is_printed_light(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report, scheme="dark")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") is None
    assert len(seen.page.pdf()) > 10_000
    seen.page.context.close()


def test_figures_can_be_read_without_seeing_the_charts(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    captions = seen.page.evaluate(
        "[...document.querySelectorAll('table')].map(t => t.caption && t.caption.textContent)"
    )
    assert len(captions) >= 6
    assert all(captions)
    labels = seen.page.evaluate("[...document.querySelectorAll('[role=img]')].map(e => e.getAttribute('aria-label'))")
    assert all(labels)
    seen.page.context.close()
