"""The pages of ``pgclinic serve`` in a browser: they stay up to date by themselves, at both widths, in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.certificate import self_signed
from fixtures.checkups import HEALTHY, SICK
from fixtures.chromium import Seen, needs_chromium
from fixtures.command import PATIENCE
from fixtures.kept_runs import kept_checkup, kept_study
from fixtures.live_run import Writer
from fixtures.served import Served, served

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

LONG_MS = 10_000 * PATIENCE
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
WIDER = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    kept_study(tmp_path)
    kept_checkup(tmp_path, SICK)
    kept_checkup(tmp_path, HEALTHY, server="PostgreSQL 13.3")
    with served(tmp_path) as found:
        yield found


def seen_at(browser: sync_api.Browser, address: str, width: int = 1280, scheme: str = "light") -> Seen:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Seen(page=context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.goto(address)
    return seen


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_run_is_followed_from_the_list_to_its_report(
    browser: sync_api.Browser, site: Served, tmp_path: Path, width: int, scheme: str
) -> None:
    seen = seen_at(browser, site.address, width, scheme)
    page = seen.page
    assert page.locator("#rows li").count() == 3
    boxes = page.locator("#rows input")
    boxes.nth(0).check()
    writer = Writer(tmp_path, "written")
    writer.step()
    # It appears by itself, and what was chosen stays so.
    page.wait_for_selector("#rows a >> text=written", timeout=LONG_MS)
    assert page.locator("#rows input:checked").count() == 1
    page.wait_for_selector("#rows .badge >> text=running", timeout=LONG_MS)
    assert not page.evaluate(WIDER)

    page.click("#rows a >> text=written")
    page.wait_for_selector("#now >> text=starting", timeout=LONG_MS)
    assert page.locator(".plot canvas").count() == 0
    writer.step()
    page.wait_for_selector("#trials td", timeout=LONG_MS)
    page.wait_for_selector(".plot canvas", timeout=LONG_MS)
    assert "at most 9" in page.locator("#now").inner_text()
    assert "% of one core" in page.locator("#cost").inner_text()
    assert not page.evaluate(WIDER)
    writer.finish()
    # The report takes the place of the live page.
    page.wait_for_selector(".verdict .word >> text=replicated", timeout=LONG_MS)
    page.click("text=All runs")
    page.wait_for_selector("#rows li:has-text('written') .badge >> text=replicated", timeout=LONG_MS)
    assert seen.complaints == []
    page.context.close()


def test_filters_and_two_runs(browser: sync_api.Browser, site: Served) -> None:
    seen = seen_at(browser, site.address)
    page = seen.page
    assert page.locator("#compare").is_disabled()
    page.keyboard.press("Tab")
    page.locator("select[name=kind]").select_option("checkup")
    page.locator("select[name=server]").select_option("PostgreSQL 13.3")
    page.click("text=Filter")
    assert page.locator("#rows li").count() == 1
    assert page.locator("#amount").inner_text() == "1 of 3 runs"
    page.click("form >> text=All runs")
    boxes = page.locator("#rows input")
    boxes.nth(0).focus()
    page.keyboard.press("Space")
    boxes.nth(1).check()
    assert boxes.nth(2).is_disabled()
    page.click("#compare")
    assert page.locator("h1").inner_text() == "Two runs side by side"
    assert seen.complaints == []
    page.context.close()


def test_the_list_works_without_script(browser: sync_api.Browser, site: Served) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(site.address)
    page.locator("select[name=kind]").select_option("study")
    page.click("text=Filter")
    assert page.locator("#rows li").count() == 1
    page.context.close()


def test_names_stay_text_and_nothing_foreign_runs(browser: sync_api.Browser, site: Served, tmp_path: Path) -> None:
    kept_study(tmp_path, "<img src=x onerror='window.ran=1'>")
    seen = seen_at(browser, site.address)
    page = seen.page
    assert page.locator("#rows img").count() == 0
    page.click("#rows a >> text=<img")
    assert page.locator("h1").inner_text().startswith("A held xmin horizon")
    assert page.evaluate("window.ran") is None
    assert seen.complaints == []
    page.context.close()


def test_a_token_opens_the_pages(browser: sync_api.Browser, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-24-characters")
    file.chmod(0o600)
    kept_study(tmp_path / "runs")
    with served(tmp_path / "runs", "--token-file", str(file)) as site:
        page = browser.new_context().new_page()
        page.goto(site.address)
        page.fill("input[name=token]", file.read_text())
        page.keyboard.press("Enter")
        page.wait_for_selector("#rows a >> text=a-study", timeout=LONG_MS)
        assert page.url == f"{site.address}/"
        page.context.close()


def test_over_tls_a_token_opens_the_pages_and_a_run_is_followed(browser: sync_api.Browser, tmp_path: Path) -> None:
    certificate, token, runs = self_signed(tmp_path), tmp_path / "token", tmp_path / "runs"
    token.write_text("a-token-of-24-characters")
    token.chmod(0o600)
    kept_study(runs)
    words = ("--host", "0.0.0.0", "--token-file", str(token), "--tls-cert", str(certificate.cert))
    with served(runs, *words, "--tls-key", str(certificate.key)) as site:
        context = browser.new_context(ignore_https_errors=True)
        page, complaints = context.new_page(), list[str]()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        address = site.address.replace("0.0.0.0", "127.0.0.1")
        page.goto(address)
        page.fill("input[name=token]", token.read_text())
        page.keyboard.press("Enter")
        page.wait_for_selector("#rows a >> text=a-study", timeout=LONG_MS)
        (cookie,) = context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
        writer = Writer(runs, "written")
        writer.step()
        page.click("#rows a >> text=written", timeout=LONG_MS)
        writer.step()
        page.wait_for_selector("#trials td", timeout=LONG_MS)
        writer.finish()
        page.wait_for_selector(".verdict .word >> text=replicated", timeout=LONG_MS)
        assert page.url == f"{address}/runs/written"
        assert complaints == []
        context.close()
