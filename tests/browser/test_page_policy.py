"""No text of a study or a run becomes code: the page's policy stops inline handlers and script addresses."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixtures.chromium import needs_chromium, opened
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()

EVIL = "</script><img src=x onerror='window.ran = 1'>\u2028</title><a href='javascript:window.ran = 1'>x</a>"

# What a hole in the escaping would let in: neither a handler, a link nor another script may run.
INJECTED = """
() => {
  document.body.insertAdjacentHTML("afterbegin", "<a id=evil href='javascript:window.ran = 1'>x</a>" +
    "<button id=handler onclick='window.ran = 1'>y</button><img src='data:,' onerror='window.ran = 1'>");
  const script = document.createElement("script");
  script.textContent = "window.ran = 1";
  document.body.append(script);
}
"""


def test_foreign_text_never_runs(browser: "sync_api.Browser", tmp_path: Path) -> None:
    study = global_counters()
    trials, seconds = StudyRun().make()
    verdict = judge(study, trials)
    study = replace(
        study,
        title=EVIL,
        about=EVIL,
        source=replace(study.source, title=EVIL, url="javascript:window.ran = 1"),
        claims=tuple(replace(claim, text=EVIL) for claim in study.claims),
    )
    path = tmp_path / "report.html"
    path.write_text(study_page(ReportedStudy(run_info(), study, trials, seconds, verdict, EVIL)), encoding="utf-8")
    seen = opened(browser, path)
    assert seen.complaints == []
    assert seen.page.locator("a[href^='javascript']").count() == 0
    seen.page.evaluate(INJECTED)
    seen.page.locator("#evil").click()
    seen.page.locator("#handler").click()
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in words for words in seen.complaints)
    assert seen.requests == []
    seen.page.context.close()
