"""The staircase in a real Chromium: every step is seen in both themes, at every width, and without a script."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.ladder import NAMES, NOTHING, arms_seen, ladder_info, ladder_study, ladder_trials, ladder_verdict
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

BOXES = "all => all.map(one => { const box = one.getBoundingClientRect(); return [box.left, box.top, box.right]; })"
STROKES = "all => all.map(one => getComputedStyle(one).stroke)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ladder") / "report.html"
    trials, seconds = ladder_trials()
    html = study_page(ReportedStudy(ladder_info(), ladder_study(), trials, seconds, ladder_verdict(), "runs/one"))
    path.write_text(html, encoding="utf-8")
    return path


def boxes(seen: Seen, kind: str) -> list[list[float]]:
    return seen.page.eval_on_selector_all(f".stairs .tread.{kind}", BOXES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1100])
def test_steps_go_down_from_left_to_right(browser: "sync_api.Browser", report: Path, scheme: str, width: int) -> None:
    seen = opened(browser, report, width=width, scheme=scheme)
    for kind in ("published", "measured"):
        places = boxes(seen, kind)
        assert len(places) == len(NAMES)
        assert all(right > left + 60 for left, _, right in places)
        assert [left for left, _, _ in places] == sorted(left for left, _, _ in places)
        assert [top for _, top, _ in places] == sorted(top for _, top, _ in places)
    assert seen.requests == []
    assert seen.complaints == []
    seen.page.context.close()


def test_colours_follow_the_theme(browser: "sync_api.Browser", report: Path) -> None:
    strokes = {}
    for scheme in ("light", "dark"):
        seen = opened(browser, report, scheme=scheme)
        strokes[scheme] = {
            kind: set(seen.page.eval_on_selector_all(f".stairs .tread.{kind}", STROKES))
            for kind in ("published", "measured")
        }
        seen.page.context.close()
    assert all(len(found) == 1 for theme in strokes.values() for found in theme.values())
    assert strokes["light"]["measured"] != strokes["dark"]["measured"]
    assert strokes["light"]["measured"] != strokes["light"]["published"]


def test_the_staircase_needs_no_script(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report, script=False)
    assert seen.page.locator(".stairs .tread.measured").count() == len(NAMES)
    assert seen.page.locator(".stairs .landing svg[role=img]").bounding_box() is not None
    seen.page.context.close()


@pytest.mark.parametrize("width", [320, 380, 768])
def test_only_the_staircase_scrolls_sideways(browser: "sync_api.Browser", report: Path, width: int) -> None:
    seen = opened(browser, report, width=width)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    landing = page.locator(".landing")
    assert landing.evaluate("one => one.scrollWidth > one.clientWidth")
    landing.focus()
    page.keyboard.press("ArrowRight")
    # The page's policy forbids what wait_for_function does in it.
    for _ in range(60):
        if landing.evaluate("one => one.scrollLeft") > 0:
            break
        page.wait_for_timeout(50)
    assert landing.evaluate("one => one.scrollLeft") > 0
    page.context.close()


@pytest.mark.parametrize("width", [380, 1100])
def test_no_text_of_the_staircase_runs_into_another(browser: "sync_api.Browser", report: Path, width: int) -> None:
    seen = opened(browser, report, width=width)
    texts = seen.page.eval_on_selector_all(
        ".landing .step text",
        "all => all.map(one => { const b = one.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })",
    )
    assert len(texts) == 5 * len(NAMES)
    shown = [box for box in texts if box[2] > box[0]]
    clashes = [
        (one, other)
        for index, one in enumerate(shown)
        for other in shown[index + 1 :]
        if min(one[2], other[2]) - max(one[0], other[0]) > 1 and min(one[3], other[3]) - max(one[1], other[1]) > 3
    ]
    assert clashes == []
    seen.page.context.close()


def test_an_arm_without_a_commit_is_an_open_mark(browser: "sync_api.Browser", tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    trials, seconds = ladder_trials()
    verdict = ladder_verdict((*arms_seen()[:6], NOTHING))
    path.write_text(
        study_page(ReportedStudy(ladder_info(), ladder_study(), trials, seconds, verdict)), encoding="utf-8"
    )
    seen = opened(browser, path)
    limit = seen.page.locator(".stairs .limit")
    assert limit.count() == 1
    box = limit.bounding_box()
    before = boxes(seen, "measured")[5]
    assert box is not None
    assert box["y"] > before[1]
    assert seen.complaints == []
    seen.page.context.close()


def test_curves_over_orders_of_magnitude_are_all_drawn(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    places = seen.page.evaluate(
        """() => [...document.querySelectorAll("[data-chart=tps] path, [data-chart=tps] circle")].map(one => ({
          ink: one.getAttribute("stroke") === "none" ? one.getAttribute("fill") : one.getAttribute("stroke"),
          dots: one.tagName === "circle" ? one.getAttribute("fill") : null,
        }))"""
    )
    # The slowest arm is a few lone dots.
    seen_arms = {one["dots"] or one["ink"] for one in places}
    assert {f"var(--arm-{arm})" for arm in range(7)} <= seen_arms
    assert any(one["dots"] == "var(--arm-6)" for one in places)
    assert "10" in seen.page.locator("[data-chart=tps] text").all_text_contents()
    seen.page.context.close()


def test_claims_open_one_by_one(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report)
    second = seen.page.locator(".judged details").nth(1)
    assert not second.locator(".verdict").is_visible()
    second.locator("summary").click()
    assert second.locator(".verdict").is_visible()
    assert second.locator(".how li").count() >= 2
    seen.page.context.close()
