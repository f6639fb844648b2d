"""What a reader sees on a desktop and on a phone: the answer first, nothing squashed, cut or empty."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.comparison import asked, comparison, measured
from fixtures.doubts import starved
from fixtures.observed import watched
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, global_counters, run_info
from pgclinic.model.study import Published, Study
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy
from pgclinic.study.compare import PROFILE

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

DESKTOP, PHONE = (1280, 900), (390, 844)
BOX = "one => { const b = one.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }"
# What is seen at the middle of the left quarter of an element: the topmost rectangle there.
TOPMOST = """
one => {
  one.scrollIntoView({ block: "center" });
  const box = one.getBoundingClientRect();
  const all = document.elementsFromPoint(box.left + box.width / 4, box.top + box.height / 2);
  return all.filter(each => each.tagName === "rect").map(each => each.getAttribute("class"))[0];
}
"""
# Pictures without a shape.
EMPTY = """
() => {
  const empty = [];
  for (const svg of document.querySelectorAll("svg[role=img], .plot svg")) {
    const drawn = (one) => one.getBBox().width + one.getBBox().height > 0;
    const shapes = [...svg.querySelectorAll("circle, rect, path, line:not(.axis, .grid, .floor)")];
    if (svg.checkVisibility() && !shapes.some(drawn)) empty.push(svg.outerHTML.slice(0, 200));
  }
  return empty;
}
"""

Made = Callable[[str], Path]


def pages_alone() -> Study:
    """A claim about pages, of which no difference is claimed: its region lies inside the equivalence margin."""
    study = global_counters()
    claim = replace(
        study.claims[0],
        measure="probe_pages",
        published=Published(text="as many pages", ratio=1.0),
        region=(0.99, 1.01),
        region_reason="pages are counted",
        published_windows=None,
        tail_s=None,
        mechanisms=(),
    )
    return replace(study, claims=(claim,))


def compared() -> str:
    """Two long settings, on a machine that others used."""
    seen = comparison((5.5,) * 5, doubts=(starved(0.9),))
    study = replace(asked(), title="compare a (a_setting_with_quite_a_long_name = on) with b (the_same = off)")
    trials = tuple(replace(one, doubts=(starved(0.9),)) for one in measured((5.5,) * 5))
    info = run_info(
        kind="compare", command=("pgclinic", "compare", "--a", "set:work_mem=4MB", "--b", "set:work_mem=64MB")
    )
    verdict = judge(study, trials, study.profiles[PROFILE])
    return study_page(ReportedStudy(info, study, trials, (), verdict, "runs/one", comparison=seen))


def rendered(name: str) -> str:
    if name == "compared":
        return compared()
    study = pages_alone() if name == "pages" else global_counters()
    trials, seconds = StudyRun(free_s=10, held_s=30).make()
    if name == "invalid":
        trials, seconds = blocks_of(study, (2.43,) * 5, doubts=(starved(0.9),)), ()
    if name == "pages":
        trials = tuple(replace(trial, counters={**trial.counters, "probe_pages": 7.0}) for trial in trials)
    if name == "watched":
        trials = watched(trials)
    return study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), "runs/one"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("screens")

    def one(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(rendered(name), encoding="utf-8")
        return path

    return one


def seen_at(browser: "sync_api.Browser", report: Path, size: tuple[int, int]) -> Seen:
    seen = opened(browser, report, width=size[0], charts=False)
    seen.page.set_viewport_size({"width": size[0], "height": size[1]})
    return seen


def box_of(seen: Seen, selector: str) -> list[float]:
    return list(seen.page.locator(selector).first.evaluate(BOX))


@pytest.mark.parametrize(
    ("name", "ratio", "about"), [("invalid", "2.43x", "held / free"), ("compared", "5.50x", "b / a")]
)
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_refused_figure_does_not_lead(
    browser: "sync_api.Browser", made: Made, size: tuple[int, int], name: str, ratio: str, about: str
) -> None:
    seen = seen_at(browser, made(name), size)
    page = seen.page
    sentence, figure = page.locator("#headline .sentence"), page.locator("#headline .figure b")
    assert sentence.inner_text() == "No answer: other programs used most of the CPU."
    assert box_of(seen, "#headline .sentence")[1] + 20 < size[1]
    assert figure.inner_text() == ratio
    assert page.locator("#headline .figure span").inner_text().startswith(f"Refused: {about}")
    size_of = "one => parseFloat(getComputedStyle(one).fontSize)"
    assert figure.evaluate(size_of) <= 1.4 * sentence.evaluate(size_of)
    colour_of = "one => getComputedStyle(one).color"
    assert figure.evaluate(colour_of) != sentence.evaluate(colour_of)
    assert figure.evaluate(colour_of) == page.locator("#headline .figure span").evaluate(colour_of)
    page.context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_first_screen_says_of_which_seconds_the_ratio_is(
    browser: "sync_api.Browser", made: Made, size: tuple[int, int]
) -> None:
    seen = seen_at(browser, made("watched"), size)
    left, top, width, height = box_of(seen, "#headline .figure")
    assert "TPS in the last 5 s of each trial" in seen.page.locator("#headline .figure").inner_text()
    assert "in the last 5 s of each trial" in seen.page.locator("#headline .sentence").inner_text()
    assert top < size[1]
    assert 0 <= left < left + width <= size[0]
    assert height < size[1] / 3
    seen.page.context.close()


@pytest.mark.parametrize("name", ["watched", "pages", "invalid", "compared"])
def test_a_phone_shows_the_whole_page_and_an_unsquashed_badge(
    browser: "sync_api.Browser", made: Made, name: str
) -> None:
    seen = seen_at(browser, made(name), PHONE)
    seen.page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    for mark in seen.page.locator(".word .mark").all():
        _, _, width, height = mark.evaluate(BOX)
        assert width == pytest.approx(height, abs=0.5)
        assert width > 15
    left, _, width, _ = box_of(seen, "#headline .word")
    assert left + width <= PHONE[0]
    seen.page.context.close()


def test_wide_tables_say_that_they_go_on(browser: "sync_api.Browser", made: Made) -> None:
    seen = seen_at(browser, made("watched"), PHONE)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    page.wait_for_timeout(200)
    tables = page.locator(".table").all()
    wide = []
    for one in (table for table in tables if table.is_visible()):
        is_wide = one.evaluate("one => one.scrollWidth > one.clientWidth + 1")
        cue = one.locator("caption span").evaluate("one => getComputedStyle(one, '::after').content")
        assert ("scroll sideways" in cue) == is_wide
        wide += [one] if is_wide else []
    assert 0 < len(wide) < len(tables)
    caption = wide[0].locator("caption span")
    left, _, width, _ = caption.evaluate(BOX)
    assert left + width <= PHONE[0], "the cue is not cut off with the table"
    wide[0].evaluate("one => (one.scrollLeft = 200)")
    assert caption.evaluate(BOX)[0] == pytest.approx(left, abs=1), "and it stays where it is read"
    assert "linear-gradient" in wide[0].evaluate("one => getComputedStyle(one).backgroundImage")
    page.context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_claimed_region_is_seen_inside_the_margin(
    browser: "sync_api.Browser", made: Made, size: tuple[int, int]
) -> None:
    seen = seen_at(browser, made("pages"), size)
    assert seen.page.locator("#headline rect.region").evaluate(TOPMOST) == "region"
    assert seen.page.locator("#headline rect.null").evaluate(TOPMOST) == "null"
    seen.page.context.close()
    seen = seen_at(browser, made("watched"), size)
    assert seen.page.locator("#headline rect.region").evaluate(TOPMOST) == "region"
    assert seen.page.locator("#headline rect.null").evaluate(TOPMOST) == "null"
    seen.page.context.close()


@pytest.mark.parametrize("name", ["watched", "pages", "invalid"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_no_picture_is_empty(browser: "sync_api.Browser", made: Made, name: str, size: tuple[int, int]) -> None:
    seen = seen_at(browser, made(name), size)
    seen.page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    assert [complaint for complaint in seen.complaints if "willReadFrequently" not in complaint] == []
    assert seen.page.evaluate(EMPTY) == []
    assert seen.requests == []
    seen.page.context.close()


def test_a_claim_about_pages_draws_pages(browser: "sync_api.Browser", made: Made) -> None:
    seen = seen_at(browser, made("pages"), PHONE)
    picture = seen.page.locator("section[aria-labelledby=own] svg")
    assert picture.locator("circle.dot").count() == 10
    assert "probe pages" in (picture.get_attribute("aria-label") or "")
    assert seen.page.locator("[data-chart=tps]").count() == 0
    texts = picture.locator("text").evaluate_all(f"all => all.map({BOX})")
    assert all(left >= 0 and left + width <= PHONE[0] for left, _, width, _ in texts)
    seen.page.context.close()


def test_addresses_are_links(browser: "sync_api.Browser", made: Made) -> None:
    seen = seen_at(browser, made("watched"), DESKTOP)
    for link in seen.page.locator("main a").all():
        assert (link.get_attribute("href") or "").startswith(("https://", "#"))
        assert link.evaluate("one => getComputedStyle(one).textDecorationLine") == "underline"
    plain = seen.page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
          const found = [];
          while (walker.nextNode()) {
            const text = walker.currentNode;
            const isAddress = /https?:\\/\\/|www\\.|habr\\.com/.test(text.data);
            if (isAddress && !text.parentElement.closest("a, pre, code")) found.push(text.data);
          }
          return found;
        }"""
    )
    assert plain == []
    seen.page.context.close()
