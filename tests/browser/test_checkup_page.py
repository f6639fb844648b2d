"""The page of a checkup in a browser: it asks for nothing, runs nothing, and fits a small screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixtures.checkups import HELD, SICK, SNAPSHOT
from fixtures.chromium import needs_chromium, opened
from pgclinic.report.checkup_view import render_checkup

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

EVIL = "</script><img src=x onerror='window.ran = 1'>\u2028</title><a href='javascript:window.ran = 1'>x</a>"


def test_names_of_the_server_never_run(browser: sync_api.Browser, tmp_path: Path) -> None:
    evil = replace(
        HELD,
        subject=EVIL,
        title=EVIL,
        evidence=tuple(replace(one, name=EVIL) for one in HELD.evidence),
        references=(EVIL, "javascript:window.ran = 1"),
    )
    path = tmp_path / "report.html"
    page = render_checkup(replace(SICK, database=EVIL, findings=(evil, *SICK.findings[1:])), SNAPSHOT, folder=EVIL)
    path.write_text(page, encoding="utf-8")
    seen = opened(browser, path, charts=False)
    assert seen.complaints == []
    assert seen.requests == []
    assert seen.page.locator("a[href^='javascript']").count() == 0
    assert seen.page.evaluate("window.ran") is None
    assert seen.page.locator("article.finding").count() == len(SICK.findings)
    seen.page.context.close()


def test_a_small_screen_scrolls_in_one_direction(browser: sync_api.Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_checkup(SICK, SNAPSHOT, folder="runs/x"), encoding="utf-8")
    seen = opened(browser, path, charts=False, width=360)
    assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert seen.complaints == []
    seen.page.context.close()
