"""The page of a checkup in a browser: it asks for nothing, runs nothing, and fits a small screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from fixtures.checkups import HELD, SICK, SNAPSHOT
from fixtures.chromium import needs_chromium, opened
from pgclinic.report.kinds import checkup_page
from pgclinic.report.reported import ReportedCheckup

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
    page = checkup_page(
        ReportedCheckup(replace(SICK, database=EVIL, findings=(evil, *SICK.findings[1:])), SNAPSHOT, folder=EVIL)
    )
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
    path.write_text(checkup_page(ReportedCheckup(SICK, SNAPSHOT, folder="runs/x")), encoding="utf-8")
    seen = opened(browser, path, charts=False, width=360)
    assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert seen.complaints == []
    seen.page.context.close()


def test_the_page_switches_its_theme_and_prints_on_white(browser: sync_api.Browser, tmp_path: Path) -> None:
    seen = opened(browser, written(tmp_path), charts=False, scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = seen.page.evaluate(paper)
    button = seen.page.get_by_role("button", name="Switch between light and dark")
    assert button.text_content() == "Light"
    button.click()
    light = seen.page.evaluate(paper)
    assert (button.text_content(), light != dark) == ("Dark", True)
    button.click()
    assert seen.page.evaluate(paper) == dark
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert seen.page.evaluate(paper) == light
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate(paper) == dark
    assert seen.complaints == []
    seen.page.context.close()


def test_commands_are_copied_as_they_stand(browser: sync_api.Browser, tmp_path: Path) -> None:
    seen = opened(browser, written(tmp_path), charts=False)
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    commands = seen.page.locator("pre > code")
    copies = seen.page.locator(".verdict .copy")
    assert copies.count() >= 1
    copies.first.click()
    seen.page.wait_for_function("document.querySelector('.verdict .copy').textContent === 'Copied'")
    assert seen.page.evaluate("navigator.clipboard.readText()") == commands.first.text_content()
    # By the keyboard too, and where the clipboard is refused what is selected is the command.
    seen.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    copies.first.focus()
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_function("document.querySelector('.verdict .copy').textContent === 'Selected'")
    assert seen.page.evaluate("getSelection().toString()").strip() == (commands.first.text_content() or "").strip()
    seen.page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_command_wraps_beside_its_button(browser: sync_api.Browser, tmp_path: Path, width: int) -> None:
    seen = opened(browser, written(tmp_path, run="runs/" + "a-long-name-" * 20), charts=False, width=width)
    assert seen.page.locator(".command .copied").count() >= 1
    assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    seen.page.context.close()


def written(folder: Path, run: str = "runs/x") -> Path:
    path = folder / "report.html"
    path.write_text(checkup_page(ReportedCheckup(SICK, SNAPSHOT, folder=run)), encoding="utf-8")
    return path
