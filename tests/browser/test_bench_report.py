"""The report of a bench in a real Chromium: its series are drawn, its why can be read, nothing is complained about."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.bench import bench_result, bench_run_info, bench_seconds, bench_trial
from fixtures.chromium import needs_chromium, opened
from pgclinic.report.kinds import bench_page
from pgclinic.report.reported import ReportedBench

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = bench_trial()
    path = tmp_path_factory.mktemp("bench") / "report.html"
    html = bench_page(ReportedBench(bench_run_info(), bench_result(record), record, bench_seconds(record), "runs/one"))
    path.write_text(html, encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1100])
def test_the_series_and_the_why_are_shown_without_complaints(
    browser: "sync_api.Browser", report: Path, scheme: str, width: int
) -> None:
    seen = opened(browser, report, width=width, scheme=scheme, charts=False)
    page = seen.page
    page.wait_for_selector(".panel svg")
    titles = page.locator(".pane:visible .panel .legend b").all_inner_texts()
    assert {"Write-ahead log", "CPU by process type, in cores"} <= set(titles)
    assert page.locator("#over-time, #latency").count() == 2
    assert page.locator(".pane:visible .panel svg").count() == len(titles)
    assert "waiting for locks 30 %" in page.locator(".hero .shares").inner_text()
    bars = page.locator(".hero .whole-bar").bounding_box()
    assert bars is not None
    assert bars["width"] > 200
    assert "of 100 ms for each transaction: update pgbench_accounts" in page.locator("#facts").inner_text()
    assert page.get_by_role("heading", name="Why the figure is what it is").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.requests == []
    assert seen.complaints == []
    page.context.close()


def test_without_a_script_the_figures_can_be_read(browser: "sync_api.Browser", report: Path) -> None:
    seen = opened(browser, report, script=False)
    assert "2 MB/s" in seen.page.locator(".pane").first.inner_text()
    assert seen.page.locator("#why").is_visible()
    seen.page.context.close()
