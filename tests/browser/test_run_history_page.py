"""The history of runs in a real Chromium: it fits, its pictures are drawn, and its links lead to the reports."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.checkups import HEALTHY, SICK
from fixtures.chromium import needs_chromium, opened
from fixtures.drawn import drawn_of
from fixtures.kept_runs import HOUR_US, judged_study, kept_bench, kept_checkup
from fixtures.records import STARTED_US
from pgclinic.cli.main import run

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

NAMES = {"bench": "tpcb-like", "study": "global-counters", "checkup": "shop"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Twelve runs of each kind, of which the last four differ from the others."""
    parent = tmp_path_factory.mktemp("history")
    for hour in range(12):
        before = hour < 8
        wave = 1 + 0.02 * (hour % 3 - 1)
        kept_bench(parent / "runs", (1000 if before else 700) * wave, hour)
        judged_study(parent / "runs", (0.5 if before else 0.8) * wave, hour)
        found = HEALTHY if before else SICK
        kept_checkup(parent / "runs", found, name="shop", started_epoch_us=STARTED_US + hour * HOUR_US)
    made = {kind: parent / f"{kind}.html" for kind in NAMES}
    for kind, page in made.items():
        assert run(["runs", "history", NAMES[kind], "--runs", str(parent / "runs"), "-o", str(page)]) == 0
    return made


@pytest.mark.parametrize("scheme", drawn_of("run history page", ["light", "dark"]))
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", NAMES)
def test_the_page_fits_and_its_pictures_are_drawn(
    browser: "sync_api.Browser", pages: dict[str, Path], kind: str, width: int, scheme: str
) -> None:
    seen = opened(browser, pages[kind], width=width, scheme=scheme, charts=False)
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    pictures = page.locator("article.past")
    assert pictures.count() >= {"bench": 4, "study": 1, "checkup": 3}[kind]
    for picture in pictures.all():
        assert picture.locator("circle.dot").count() == 12
    leaving = page.locator("article.past svg *").evaluate_all(
        "all => all.filter(one => { const box = one.getBoundingClientRect();"
        " return box.width && (box.left < -1 || box.right > innerWidth + 1); }).map(one => one.outerHTML)"
    )
    assert leaving == []
    colours = page.locator("line.change").evaluate_all("all => all.map(one => getComputedStyle(one).stroke)")
    assert all(colour.startswith("rgb(") and colour != "rgb(0, 0, 0)" for colour in colours)
    assert len(colours) >= (0 if kind == "checkup" else 1)
    assert page.locator("table").last.locator("tbody tr").count() == 12
    assert (seen.requests, seen.complaints) == ([], [])
    page.context.close()


def test_changes_are_in_words_and_runs_lead_to_their_reports(
    browser: "sync_api.Browser", pages: dict[str, Path]
) -> None:
    bench = opened(browser, pages["bench"], charts=False).page
    assert "4 changed for the worse" in bench.inner_text("main")
    assert "(run bench-8)" in bench.locator("article.past").first.inner_text()
    assert "worse" in (bench.locator("article.past").first.get_attribute("class") or "")
    bench.context.close()
    study = opened(browser, pages["study"], charts=False).page
    link = study.get_by_role("link", name="study-8")
    assert link.evaluate("one => one.href") == (pages["study"].parent / "runs/study-8/report.html").as_uri()
    assert study.locator("line.limits").count() >= 12
    study.context.close()
    checkup = opened(browser, pages["checkup"], charts=False).page
    assert "new" in checkup.get_by_role("table", name="Findings that changed").inner_text()
    checkup.context.close()
