"""The page of a growth in a real Chromium: it fits, its lines are in their colours, and the interval stands beside."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import needs_chromium
from fixtures.drawn import drawn_of
from fixtures.growth import shop_growth
from fixtures.records import run_info
from pgclinic.report.kinds import growth_page
from pgclinic.report.reported import ReportedGrowth

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()


@pytest.mark.parametrize("scheme", drawn_of("grow page", ["light", "dark"]))
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_picture_is_drawn_and_the_page_fits(
    browser: "sync_api.Browser", tmp_path: Path, width: int, scheme: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(growth_page(ReportedGrowth(run_info(), shop_growth(), "runs/r")), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "at 10x the rows" in page.inner_text("body")
    lines = page.locator(".growth line.stroke").evaluate_all(
        "all => all.map(one => [getComputedStyle(one).stroke, one.classList.contains('beyond')])"
    )
    # Three statements on four twins: three measured parts each, and a dashed one behind them.
    assert len(lines) == 3 * 4
    assert sum(beyond for _, beyond in lines) == 3
    assert len({stroke for stroke, _ in lines}) == 3
    dots = page.locator(".growth circle.dot").evaluate_all(
        "all => all.map(one => { const box = one.getBoundingClientRect();"
        " const field = one.parentElement.getBoundingClientRect();"
        " return [(box.left + box.right) / 2 - field.left, field.right - (box.left + box.right) / 2]; })"
    )
    assert len(dots) == 3 * 4
    assert all(left > -1 and right > -1 for left, right in dots), "no dot leaves its field"
    # The intervals stand to the right of the field and stay within the window.
    ends = page.locator(".growth line.limits").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert len(set(ends)) == 3
    assert all(end <= width for end in ends)
    assert requests == [file.as_uri()]
    assert complaints == []
    context.close()
