"""Charts over time of kept runs in a real Chromium: one second and one zoom for all of them, files with the figures."""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from fixtures.bench import bench_result, bench_run_info, bench_seconds, bench_trial, with_histograms
from fixtures.chromium import Seen, needs_chromium, opened
from fixtures.drawn import drawn_of
from fixtures.observed import watched
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from fixtures.tree import ROOT
from pgclinic.report.kept_run import judged_run, rendered_run
from pgclinic.report.kinds import bench_page, study_page
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.store.run_list import found_run

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()
EVIDENCE = ROOT / "docs/evidence"
KEPT = {
    "study": EVIDENCE / "global-counters-demo.tar.xz",
    "compare": EVIDENCE / "pages/compare.tar.xz",
    "bench": EVIDENCE / "pages/bench.tar.xz",
}
LEFT, RIGHT = 56, 12
#: The figures along the time axis of a chart, as they are written.
ON_AXIS = "plot => [...plot.querySelectorAll('text.second')].map(one => one.textContent)"
SVG_NAME = "{http://www.w3.org/2000/svg}"


def heated_bench() -> str:
    """A bench of which each second has its histogram."""
    record = with_histograms(bench_trial())
    return bench_page(ReportedBench(bench_run_info(), bench_result(record), record, bench_seconds(record), None))


def kept(archive: Path, folder: Path) -> str:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (path,) = folder.iterdir()
    return rendered_run(judged_run(found_run(path))).html()


@pytest.fixture(scope="module", params=[*drawn_of("charts", list(KEPT)), "heated bench"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    html = kept(KEPT[request.param], tmp_path_factory.mktemp("kept")) if request.param in KEPT else heated_bench()
    path = tmp_path_factory.mktemp("charts") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def in_page(report: Path) -> dict[str, dict[str, object]]:
    """The charts of the page by their id."""
    found = re.findall(
        r'<script type="application/json" id="charts-[a-z]+">(.*?)</script>',
        report.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    return {chart["id"]: chart for data in found for chart in json.loads(data)["charts"]}


def plots(seen: Seen) -> list[sync_api.Locator]:
    return seen.page.locator(".plot:visible").all()


def box_of(plot: sync_api.Locator) -> tuple[float, float, float]:
    """Where the area of a chart begins and ends, and its middle height."""
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    return box["x"] + LEFT, box["x"] + box["width"] - RIGHT, box["y"] + box["height"] / 2


def cursors(seen: Seen) -> list[float | None]:
    """Where each chart that is seen has its second, as a share of its width."""
    return [
        plot.evaluate(
            """plot => {
              const [line, area] = [plot.querySelector(".cursor"), plot.querySelector("clipPath rect")];
              const at = (line.x1.baseVal.value - area.x.baseVal.value) / area.width.baseVal.value;
              return line.getAttribute("visibility") === "visible" ? at : null;
            }"""
        )
        for plot in plots(seen)
    ]


def axes(seen: Seen) -> list[list[str]]:
    return [one for plot in plots(seen) if (one := plot.evaluate(ON_AXIS))]


def readouts(seen: Seen) -> list[str]:
    return [one.strip() for one in seen.page.locator(".readout:visible").all_inner_texts()]


def test_a_second_is_shown_in_all_charts(browser: sync_api.Browser, report: Path) -> None:
    seen = opened(browser, report)
    assert len(plots(seen)) >= 3
    left, right, middle = box_of(plots(seen)[0])
    seen.page.mouse.move(left + (right - left) * 0.6, middle)
    places = cursors(seen)
    assert all(place == pytest.approx(0.6, abs=0.02) for place in places)
    shown = {words.split(":")[0] for words in readouts(seen)}
    assert len(shown) == 1
    assert re.fullmatch(r"second \d+ to \d+", shown.pop())
    # Each names the figures of its own chart, which are those of the data.
    (second,) = {int(words.split()[1]) for words in readouts(seen)}
    for ident, chart in in_page(report).items():
        readout = seen.page.locator(f"[data-readout='{ident}']:visible")
        lines = [line for line in chart["lines"] if line["trial"] is None]  # type: ignore[attr-defined]
        if not readout.count() or readout.get_attribute("data-still") or chart["shape"] != "lines":
            continue
        words = readout.inner_text().replace(",", "")
        for line in lines:
            value = line["values"][second]
            if value is not None:
                told = re.search(rf"{re.escape(line['name'])} ([\d.]+)", words)
                assert told is not None, words
                assert float(told[1]) == pytest.approx(value, rel=0.02, abs=0.006)
    seen.page.mouse.move(2, 2)
    assert set(cursors(seen)) == {None}
    assert set(readouts(seen)) == {""}
    assert seen.complaints == []
    seen.page.context.close()


def drag(seen: Seen, plot: sync_api.Locator, begin: float, end: float) -> None:
    left, right, middle = box_of(plot)
    seen.page.mouse.move(left + (right - left) * begin, middle)
    seen.page.mouse.down()
    seen.page.mouse.move(left + (right - left) * (begin + end) / 2, middle)
    seen.page.mouse.move(left + (right - left) * end, middle)
    seen.page.mouse.up()


@pytest.mark.parametrize("way", ["Escape", "double click", "button"])
def test_dragging_zooms_all_charts_and_there_are_ways_back(browser: sync_api.Browser, report: Path, way: str) -> None:
    seen = opened(browser, report)
    whole = axes(seen)
    drag(seen, plots(seen)[-1], 0.25, 0.75)
    zoomed = axes(seen)
    assert len({tuple(one) for one in zoomed if one[-1] == zoomed[0][-1]}) == 1
    assert all(one != other for one, other in zip(zoomed, whole, strict=True))
    back = seen.page.get_by_role("button", name="Whole run").first
    assert back.is_visible()
    if way == "button":
        back.click()
    elif way == "double click":
        plots(seen)[0].dblclick()
    else:
        plots(seen)[0].focus()
        seen.page.keyboard.press("Escape")
    assert axes(seen) == whole
    assert not back.is_visible()
    assert seen.complaints == []
    seen.page.context.close()


def test_keys_move_the_second_and_zoom(browser: sync_api.Browser, report: Path) -> None:
    seen = opened(browser, report)
    keys, whole = seen.page.keyboard, axes(seen)
    plots(seen)[0].focus()
    keys.press("Home")
    first = readouts(seen)[0]
    begin = int(first.split()[1])
    assert begin in (-1, 0)
    for key, moved in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        keys.press(key)
        assert int(readouts(seen)[0].split()[1]) == begin + moved
    assert seen.page.locator(".spoken").inner_text() == readouts(seen)[0]
    keys.press("End")
    last = int(readouts(seen)[0].split()[1])
    keys.press("Shift+ArrowLeft")
    assert int(readouts(seen)[0].split()[1]) == max(begin, last - 10)
    keys.press("+")
    assert axes(seen) != whole
    keys.press("-")
    assert axes(seen) == whole
    keys.press("Escape")
    assert set(cursors(seen)) == {None}
    assert seen.complaints == []
    seen.page.context.close()


def saved(seen: Seen, kind: str, title: str) -> str:
    # Chromium refuses an eleventh download within a second.
    seen.page.wait_for_timeout(110)
    with seen.page.expect_download() as download:
        seen.page.get_by_role("button", name=f"Download as {kind}: {title}", exact=True).locator("visible=true").click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return download.value.path().read_text(encoding="utf-8")


def test_a_csv_has_the_figures_of_the_page(browser: sync_api.Browser, report: Path) -> None:
    seen = opened(browser, report)
    compared = 0
    for ident, chart in in_page(report).items():
        if not seen.page.locator(f"[data-chart='{ident}']").is_visible():
            continue
        heads, *rows = csv.reader(io.StringIO(saved(seen, "CSV", str(chart["title"]))))
        assert heads[:2] == ["from (s)", "to (s)"]
        assert [float(row[0]) for row in rows] == chart["from_s"]
        lines: list[dict[str, object]] = chart["lines"]  # type: ignore[assignment]
        unit = f" ({chart['measured_in']})" if chart["measured_in"] else ""
        for place, line in enumerate(lines, start=2):
            assert heads[place] == f"{line['name']}{unit}"
            assert [float(row[place]) if row[place] else None for row in rows] == line["values"]
            compared += 1
        if chart["heat"]:
            cells = chart["heat"]["cells"]  # type: ignore[index]
            assert sum(float(cell) for row in rows for cell in row[2:-1]) == sum(n for row in cells for _, n in row)
    assert compared >= 4
    assert seen.requests == []
    assert seen.complaints == []
    seen.page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_svg_is_the_picture_in_the_colours_of_the_theme(
    browser: sync_api.Browser, report: Path, scheme: str
) -> None:
    seen = opened(browser, report, scheme=scheme)
    paper = seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()")
    for ident, chart in in_page(report).items():
        place = seen.page.locator(f"[data-chart='{ident}']")
        if not place.is_visible():
            continue
        text = saved(seen, "SVG", str(chart["title"]))
        assert "var(" not in text
        root = ET.fromstring(text)
        ground = root.find(f"{SVG_NAME}rect")
        assert ground is not None
        assert ground.get("fill") == paper
        texts = [one.text or "" for one in root.iter(f"{SVG_NAME}text")]
        assert any(str(chart["title"]) in one for one in texts)
        for line in chart["lines"]:  # type: ignore[attr-defined]
            assert line["trial"] is not None or line["name"] in texts
        # As many lines, areas and cells as in the page.
        for shape in ("path", "g rect"):
            name = shape.rpartition(" ")[2]
            inside = [one for group in root.iter(f"{SVG_NAME}g") for one in group.iter(f"{SVG_NAME}{name}")]
            assert len(inside) == place.locator(f"g[clip-path] {name}").count()
    assert seen.complaints == []
    seen.page.context.close()


def test_charts_take_the_colours_of_the_theme(browser: sync_api.Browser, report: Path) -> None:
    seen = opened(browser, report)
    strokes = """() => [...document.querySelectorAll(".plot path, .plot rect")]
      .map(one => getComputedStyle(one)).map(style => style.fill + style.stroke)"""
    light = seen.page.evaluate(strokes)
    seen.page.get_by_role("button", name="Switch between light and dark").click()
    dark = seen.page.evaluate(strokes)
    assert len(light) == len(dark)
    assert set(light) != set(dark)
    seen.page.context.close()


def test_a_reader_is_told_how_once(browser: sync_api.Browser, report: Path) -> None:
    seen = opened(browser, report)
    assert seen.page.get_by_text("Drag to zoom in").count() == 1
    for plot in plots(seen):
        assert plot.get_attribute("tabindex") == "0"
        assert plot.get_attribute("aria-label")
    seen.page.context.close()


def test_a_finger_moves_the_second_and_zooms_by_a_button(browser: sync_api.Browser, report: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, offline=True)
    seen = Seen(page=context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.goto(report.as_uri())
    whole = axes(seen)
    left, right, middle = box_of(plots(seen)[0])
    seen.page.touchscreen.tap(left + (right - left) * 0.5, middle)
    assert all(place == pytest.approx(0.5, abs=0.03) for place in cursors(seen))
    seen.page.get_by_role("button", name="Zoom in").first.tap()
    assert axes(seen) != whole
    seen.page.get_by_role("button", name="Whole run").first.tap()
    assert axes(seen) == whole
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert seen.complaints == []
    context.close()


def test_an_event_is_named_at_its_second(browser: sync_api.Browser, tmp_path: Path) -> None:
    trials, seconds = StudyRun(free_s=20, held_s=20).make()
    trials = watched(trials)
    study = global_counters()
    path = tmp_path / "report.html"
    path.write_text(
        study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), ".")), encoding="utf-8"
    )
    seen = opened(browser, path)
    plot = seen.page.locator(".pane:visible .plot").first
    left, right, middle = box_of(plot)
    # The checkpoint was seen at 5.0 s, so it was in the second before; the axis is from -1 to the end
    # of what was published, 30.
    seen.page.mouse.move(left + (right - left) * 5.5 / 31, middle)
    assert "checkpoint" in seen.page.locator(".pane:visible [data-readout]").inner_text()
    seen.page.mouse.move(left + (right - left) * 6.5 / 31, middle)
    assert "checkpoint" not in seen.page.locator(".pane:visible [data-readout]").inner_text()
    seen.page.context.close()


def test_an_hour_is_a_small_page_that_answers_at_once(browser: sync_api.Browser, tmp_path: Path) -> None:
    trials, seconds = StudyRun(free_s=3600, held_s=3600).make()
    trials = watched(trials)
    study = global_counters()
    path = tmp_path / "report.html"
    path.write_text(
        study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), ".")), encoding="utf-8"
    )
    assert path.stat().st_size < 3_000_000
    seen = opened(browser, path)
    assert "samples: the lowest and the highest of each" in seen.page.locator(".thinned").first.inner_text()
    tops = [max(v for v in line["values"] if v is not None) for line in in_page(path)["tps"]["lines"][:-2]]  # type: ignore[index]
    highest = {trial: max(one.tps for one in seconds if one.trial == trial) for trial in range(1, len(trials) + 1)}
    assert tops == [pytest.approx(highest[trial], abs=0.06) for trial in sorted(highest)]
    drag(seen, plots(seen)[0], 0.4, 0.5)
    assert "1,500" in axes(seen)[0]
    assert seen.complaints == []
    seen.page.context.close()
