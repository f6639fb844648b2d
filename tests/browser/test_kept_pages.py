"""Pages of real runs, one of each kind, in a real Chromium: at both widths and in both themes all of it can be read."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.drawn import drawn_of
from fixtures.tree import ROOT
from pgclinic.model.run import RunKind
from pgclinic.report.kept_run import judged_run, rendered_run
from pgclinic.report.words.answers import answer_sentence
from pgclinic.store.run_list import FoundRun, found_run

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()
EVIDENCE = ROOT / "docs/evidence"
ARCHIVES = {
    RunKind.STUDY: EVIDENCE / "global-counters-demo.tar.xz",
    **{kind: EVIDENCE / f"pages/{kind.value}.tar.xz" for kind in RunKind if kind is not RunKind.STUDY},
}
#: Words that are broken within a cell, of letters alone and short enough for any column.
BROKEN_WORDS = """() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.closest("td, th, dd, dt") || !text.parentElement.offsetParent) continue;
    for (const word of text.data.matchAll(/[A-Za-z]{2,18}/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((place) => Math.round(place.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""

#: Pictures and tables that reach into the section below their own.
OVERLAPS = """() => {
  const sections = [...document.querySelectorAll("main > section")];
  return sections.slice(0, -1).flatMap((section, at) => {
    const next = sections[at + 1].getBoundingClientRect().top;
    const inside = [...section.querySelectorAll("svg, table, dl, figure")].filter((one) => one.checkVisibility());
    return inside.some((one) => one.getBoundingClientRect().bottom > next + 1) ? [section.innerText.slice(0, 40)] : [];
  });
}"""


#: Figures with their units, as the list of runs has them.
FIGURES = re.compile(r"\d[\d,.]*(?:x| %| TPS| ms)")


@pytest.fixture(scope="module", params=list(ARCHIVES), ids=lambda kind: kind.value)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FoundRun:
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(ARCHIVES[request.param]) as tar:
        tar.extractall(folder, filter="data")
    (path,) = folder.iterdir()
    found = judged_run(found_run(path))
    assert found.answer is not None
    return found


@pytest.fixture(scope="module")
def page(run: FoundRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(rendered_run(run).html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def screen(browser: sync_api.Browser, page: Path) -> Iterator[Callable[[int], Seen]]:
    """The page in a window of a width, opened once for all that only look at it."""
    seen: dict[int, Seen] = {}

    def of_width(width: int) -> Seen:
        if width not in seen:
            seen[width] = opened(browser, page, width=width, charts=False)
        return seen[width]

    yield of_width
    for one in seen.values():
        one.page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_all_can_be_read(browser: sync_api.Browser, run: FoundRun, page: Path, width: int) -> None:
    """In a theme that is drawn for each: themes differ by the variables that all pages have."""
    for scheme in drawn_of(f"{run.path.name} at {width}", ["light", "dark"]):
        all_can_be_read(browser, page, width, scheme)


def all_can_be_read(browser: sync_api.Browser, page: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen = opened(browser, page, width=width, scheme=scheme, charts=False)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate(BROKEN_WORDS) == []
    assert seen.page.evaluate(OVERLAPS) == []
    violations = Axe().run(seen.page).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")
    ] == []
    # Scripts of the check are not the page's own.
    assert seen.requests == []
    assert [words for words in seen.complaints if "axe" not in words] == []
    seen.page.context.close()


def test_the_first_screen_says_what_was_asked_and_what_was_found(run: FoundRun, screen: Callable[[int], Seen]) -> None:
    assert run.answer is not None
    figures = FIGURES.findall(answer_sentence(run.answer))
    assert figures
    seen = screen(1280)
    for part in (".hero h1", ".hero .verdict"):
        place = seen.page.locator(part).first.bounding_box()
        assert place is not None, part
        assert place["y"] < 600, part
    shown = " ".join(seen.page.locator(".hero").inner_text().split()).replace("TPS", "transactions per second")
    assert [one for one in figures if one.replace("TPS", "transactions per second") not in shown] == []


@pytest.mark.parametrize(("width", "height"), [(390, 1000), (1280, 900)])
def test_the_first_screen_says_what_to_do_next(
    run: FoundRun, screen: Callable[[int], Seen], width: int, height: int
) -> None:
    seen = screen(width)
    step = seen.page.locator(".hero .next")
    assert step.count() == 1, "one thing, in one place"
    place = step.locator("p").bounding_box()
    assert place is not None
    assert place["y"] + place["height"] < height
    words = step.locator("p").inner_text().split()
    assert words[0] == "Next"
    assert len(words) > 4
    # The same words are in the Markdown, and its commands can be copied as they stand.
    plain = re.sub(r"\\(.)", r"\1", rendered_run(run).markdown())
    assert f"**Next** {' '.join(words[1:])}" in plain
    for code in step.locator("code").all():
        assert code.inner_text().strip().splitlines()[0] in plain
        assert step.locator("button.copy").count() == 1
