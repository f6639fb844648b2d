"""The pages of an assay, a search and a bisection in a real Chromium: they fit, and their bars lie on their axis."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import needs_chromium
from fixtures.drawn import drawn_of
from fixtures.records import run_info
from fixtures.tuning import ASSAY, BISECT, SEARCH, plan
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.report.kinds import tuning_page
from pgclinic.report.reported import ReportedTuning

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

#: What the picture of each has a bar for.
BARS: dict[str, tuple[Assay | Search | Bisect, tuple[str, ...]]] = {
    "assay": (ASSAY, ("random_page_cost", "shared_buffers")),
    "search": (SEARCH, ("random_page_cost", "commit_delay, commit_siblings", "confirmed")),
    "bisect": (BISECT, tuple(release.version for release in BISECT.releases if release.failure is None)),
}


@pytest.mark.parametrize("scheme", drawn_of("tuning pages", ["light", "dark"]))
@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("name", BARS)
def test_the_picture_is_drawn_and_the_page_fits(
    browser: "sync_api.Browser", tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    found, labels = BARS[name]
    file = tmp_path / "report.html"
    file.write_text(tuning_page(ReportedTuning(run_info(), plan(), found, "runs/r")), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.inner_text("body")
    for label in labels:
        assert label in text
    boxes = page.locator(".bars svg rect").evaluate_all(
        "all => all.map(one => { const box = one.getBoundingClientRect();"
        " const field = one.parentElement.getBoundingClientRect();"
        " return [box.width, box.left - field.left, field.right - box.right, getComputedStyle(one).fill]; })"
    )
    assert len(boxes) == len(labels)
    assert all(box[0] > 0.5 for box in boxes), boxes
    assert all(box[1] > -1 and box[2] > -1 for box in boxes), "no bar leaves its field"
    assert all(box[3].startswith("rgb(") and box[3] != "rgb(0, 0, 0)" for box in boxes), boxes
    for figure in page.locator(".bars text").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)"):
        assert figure <= width
    assert requests == [file.as_uri()]
    assert complaints == []
    context.close()
