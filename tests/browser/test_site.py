"""The documentation as a site, built strictly and read in Chromium: nothing is asked of another host."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_site import SIX_WAYS
from fixtures.chromium import needs_chromium
from fixtures.drawn import drawn_of
from fixtures.tree import ROOT

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = [needs_chromium(), pytest.mark.timeout(1800)]
PAGES = (
    "index.html",
    "guides/checkup.html",
    "guides/managed-services.html",
    "studies/global-counters.html",
    "pathologies/index.html?q=work_mem",
    "pathologies/work-mem-small.html",
    "reference/checkup-output.html",
    "concepts/checked.html",
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name in the library
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs/site/build_site.py"), "--into", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 broken links" in done.stdout
    handler = functools.partial(_Quiet, directory=str(folder / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Reader:
    """A page, with what its console said and which other hosts it asked."""

    def __init__(self, page: sync_api.Page, site: str) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        page.on("console", lambda one: self.complaints.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: self.complaints.append(str(one)))
        page.on("request", lambda one: self._asked(one.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.site, "data:", "blob:")):
            self.complaints.append(f"asked {url}")

    def opens(self, place: str) -> sync_api.Page:
        self.page.goto(self.site + place)
        self.page.wait_for_load_state("networkidle")
        return self.page


#: Each width in a theme that is drawn.
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in drawn_of(f"site at {width}", ["light", "dark"])]


@pytest.fixture(params=LOOKS, ids=str)
def reader(request: pytest.FixtureRequest, browser: sync_api.Browser, site: str) -> Iterator[Reader]:
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    one = Reader(context.new_page(), site)
    yield one
    context.close()
    assert one.complaints == []


def test_each_of_the_six_ways_is_one_click_from_the_first_page(reader: Reader) -> None:
    assert len(SIX_WAYS) == 6
    for question, guide in SIX_WAYS.items():
        page = reader.opens("index.html")
        link = page.locator("main article").get_by_role("link", name=question, exact=True)
        link.click()
        page.wait_for_url(f"**/{guide.replace('.md', '.html')}")
        assert page.locator("main h1").inner_text()


def test_every_guide_of_the_six_shows_a_session(browser: sync_api.Browser, site: str) -> None:
    reader = Reader(browser.new_page(), site)
    for guide in SIX_WAYS.values():
        page = reader.opens(guide.replace(".md", ".html"))
        picture = page.locator(".session img").first
        assert (picture.get_attribute("alt") or "").startswith("pgclinic ")
        assert picture.evaluate("one => one.complete && one.naturalWidth > 0")
        report = page.get_by_role("link", name="The report of this session").first.get_attribute("href")
        assert report is not None
        assert report.endswith(".html")
    assert reader.complaints == []
    reader.page.close()


def test_pages_fit_their_width_and_follow_the_theme(reader: Reader) -> None:
    backgrounds = set()
    for place in PAGES:
        page = reader.opens(place)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    (background,) = backgrounds
    levels = [int(one) for one in background.removeprefix("rgb(").rstrip(")").split(",")[:3]]
    is_dark = reader.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (sum(levels) < 200) == is_dark


@pytest.mark.parametrize(
    ("words", "found", "left_out"),
    [
        ("LWLock:WALWrite", "commit-delay", "work-mem-small"),
        ("max_wal_size", "checkpoints-forced", "deadlocks"),
        ("temporary files", "work-mem-small", "commit-delay"),
    ],
)
def test_pathologies_are_found_by_what_is_seen(
    browser: sync_api.Browser, site: str, words: str, found: str, left_out: str
) -> None:
    reader = Reader(browser.new_page(), site)
    page = reader.opens("pathologies/index.html")
    page.locator(".pathology-search input").fill(words)
    entries = page.locator(".pathologies > p")
    assert entries.get_by_role("link", name=found, exact=True).is_visible()
    assert not entries.get_by_role("link", name=left_out, exact=True).is_visible()
    shown, _, whole = page.locator(".pathology-search output").inner_text().partition(" of ")
    assert 0 < int(shown) < int(whole)
    # The address has the search, and shows it again.
    page.reload()
    assert not entries.get_by_role("link", name=left_out, exact=True).is_visible()
    entries.get_by_role("link", name=found, exact=True).click()
    assert page.locator("main h1").inner_text().startswith(found)
    assert reader.complaints == []
    page.close()


def test_a_study_has_its_latest_evidence_and_its_report(browser: sync_api.Browser, site: str) -> None:
    reader = Reader(browser.new_page(), site)
    page = reader.opens("studies/global-counters.html")
    assert page.get_by_role("heading", name="The latest evidence").is_visible()
    assert page.get_by_role("cell", name="held-is-slower").first.is_visible()
    page.get_by_role("link", name="The whole report of this run").first.click()
    assert "a held xmin horizon" in page.title()
    assert reader.complaints == []
    page.close()


def test_the_readme_and_the_makefile_name_the_site(site: str) -> None:
    assert "make docs" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/site/build_site.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "/build/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert site


def test_a_warning_ends_the_build(tmp_path: Path) -> None:
    """As a link that leads nowhere is one to the strict builder."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/index.md").write_text("# A\n\n[gone](gone.md)\n", encoding="utf-8")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "a"\ndocs_dir = "source"\n', encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(tmp_path / "zensical.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode != 0, done.stdout
