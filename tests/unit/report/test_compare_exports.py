"""JUnit, Markdown, Bencher and Otava, held against what those programs read; and where they may be written."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from fixtures.comparison import comparison, measured, reported
from fixtures.records import run_info
from pgclinic.cli.compare import AnswerOptions, CompareExports
from pgclinic.cli.compare_end import check_answer
from pgclinic.errors import UsageError
from pgclinic.report.exports.bencher import bencher_json
from pgclinic.report.exports.junit import junit_xml
from pgclinic.report.exports.otava import ATTRIBUTES, otava_csv
from pgclinic.report.markdown import markdown

SLOWER = (0.72, 0.75, 0.71, 0.74, 0.73)
WILD = (0.5, 1.6, 0.9, 1.3, 0.7)
STARTED = "2026-11-21T11:46:16+00:00"


def suite(ratios: tuple[float, ...], *fail_if: str, strict: bool = False) -> ElementTree.Element:
    text = junit_xml(comparison(ratios, *fail_if), elapsed_s=61.5, started=STARTED, strict=strict)
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    (found,) = root
    cases = found.findall("testcase")
    assert int(found.attrib["tests"]) == len(cases)
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(found.attrib[attribute]) == len(found.findall(f"testcase/{kind}"))
    return found


def outcomes(element: ElementTree.Element) -> list[tuple[str, list[str]]]:
    return [(case.attrib["name"], [child.tag for child in case]) for case in element.findall("testcase")]


def test_junit_has_a_case_for_each_threshold() -> None:
    found = suite(SLOWER, "b<0.95a", "b>a", "b<0.73a")
    assert outcomes(found) == [("not b<0.95a", ["failure"]), ("not b>a", []), ("not b<0.73a", ["skipped"])]
    assert float(found.attrib["time"]) == 61.5
    assert datetime.fromisoformat(found.attrib["timestamp"])
    failure = found.find("testcase/failure")
    assert failure is not None
    assert "0.95" in failure.attrib["message"]
    assert "geometric mean" in (failure.text or "")
    assert outcomes(suite(SLOWER, "b<0.73a", strict=True)) == [("not b<0.73a", ["failure"])]


def test_junit_without_a_threshold_has_one_case() -> None:
    assert outcomes(suite(SLOWER)) == [("comparison", [])]
    assert outcomes(suite(WILD)) == [("comparison", ["skipped"])]
    assert outcomes(suite(WILD, strict=True)) == [("comparison", ["failure"])]
    assert outcomes(suite(())) == [("comparison", ["error"])]
    assert outcomes(suite((), "b<a")) == [("not b<a", ["error"])]


def test_markdown_is_a_heading_a_table_and_a_folded_reasoning() -> None:
    seen = comparison(SLOWER, "b<0.95a")
    text = markdown(reported(seen, measured(SLOWER)), seen, report="runs/1/report.html")
    lines = text.splitlines()
    assert lines[0].startswith("### ▼ slower: b is 0.73x as fast as a")
    table = [line for line in lines if line.startswith("|")]
    assert len(table) > 4
    assert {line.count("|") for line in table} == {6}
    assert any("crossed" in line and "b\\<0.95a" in line for line in lines)
    assert text.count("<details>") == text.count("</details>") == 1
    assert "runs/1/report.html" in text


def test_markdown_shows_names_as_they_are() -> None:
    seen = comparison(SLOWER)
    seen = replace(seen, b=replace(seen.b, about="search_path = a|b*c\n@someone <script>"))
    text = markdown(reported(seen, measured(SLOWER)), seen, report="r")
    line = next(line for line in text.splitlines() if line.startswith("- **b**"))
    assert line == "- **b** search\\_path = a\\|b\\*c \\@someone \\<script\\>"


def check_bencher(document: Any) -> None:
    """Bencher's schema: benchmark -> measure -> value with optional bounds, all of them numbers."""
    assert isinstance(document, dict)
    for name, measures in document.items():
        assert 0 < len(name) <= 1024
        assert measures
        for measure, metric in measures.items():
            assert 0 < len(measure) <= 64
            assert {"value"} <= set(metric) <= {"value", "lower_value", "upper_value"}
            assert all(isinstance(value, float | int) and math.isfinite(value) for value in metric.values())
            assert metric.get("lower_value", -math.inf) <= metric["value"] <= metric.get("upper_value", math.inf)


def test_bencher_has_both_arms_and_their_ratios() -> None:
    document = json.loads(bencher_json(comparison(SLOWER)))
    check_bencher(document)
    assert list(document) == ["a: work_mem = 4MB", "b: work_mem = 64MB", "b / a"]
    assert document["a: work_mem = 4MB"]["throughput"] == {"value": pytest.approx(10_000)}
    # Nanoseconds, as Bencher counts them: 600 us.
    assert document["a: work_mem = 4MB"]["latency"] == {"value": pytest.approx(600_000)}
    ratio = document["b / a"]["tps-ratio"]
    assert ratio["lower_value"] < ratio["value"] < ratio["upper_value"]
    too_few = json.loads(bencher_json(comparison(SLOWER[:3])))
    check_bencher(too_few)
    assert set(too_few["b / a"]["tps-ratio"]) == {"value"}
    assert json.loads(bencher_json(comparison(()))) == {}


def test_otava_reads_a_row_of_time_attributes_and_numbers() -> None:
    heads, row = csv.reader(io.StringIO(otava_csv(comparison(SLOWER), run_info(), folder="runs/1", started=STARTED)))
    assert heads[0] == "time"
    assert tuple(heads[1 : 1 + len(ATTRIBUTES)]) == ATTRIBUTES
    assert len(heads) == len(row) == len(set(heads))
    cells = dict(zip(heads, row, strict=True))
    assert datetime.fromisoformat(cells["time"]).utcoffset() is not None
    metrics = {name: float(cells[name]) for name in heads[1 + len(ATTRIBUTES) :] if cells[name]}
    assert metrics["a_tps"] == pytest.approx(10_000)
    assert metrics["ratio_tps"] == pytest.approx(0.73, abs=0.01)
    assert {"a_p99", "b_p99", "ratio_p99", "a_p99_9", "ratio_wal"} <= set(metrics)
    assert cells["word"] == "slower"
    assert cells["server_version"] == "18.6"


def test_the_columns_for_otava_are_always_the_same() -> None:
    def heads(ratios: tuple[float, ...]) -> list[str]:
        return next(csv.reader(io.StringIO(otava_csv(comparison(ratios), run_info(), folder="r", started=STARTED))))

    assert heads(SLOWER) == heads(())


def test_exports_never_overwrite(tmp_path: Path) -> None:
    mine = tmp_path / "mine.xml"
    mine.write_text("precious")
    with pytest.raises(UsageError, match="already exists") as raised:
        check_answer(AnswerOptions(exports=CompareExports(junit=str(mine))))
    assert "--force" in (raised.value.hint or "")
    check_answer(AnswerOptions(exports=CompareExports(junit=str(mine), force=True)))
    check_answer(AnswerOptions(exports=CompareExports(junit=str(tmp_path / "new.xml"), markdown="-")))
    assert mine.read_text() == "precious"


@pytest.mark.parametrize(
    ("exports", "as_json", "message"),
    [
        (CompareExports(junit="nowhere/x.xml"), False, "there is no directory nowhere"),
        (CompareExports(otava="."), False, "it is a directory"),
        (CompareExports(junit="-", markdown="-"), False, "--junit and --markdown cannot both go to stdout"),
        (CompareExports(bencher="-"), True, "--bencher and --json cannot both go to stdout"),
        (CompareExports(junit="same", otava="./same"), False, "--junit and --otava name the same file"),
    ],
)
def test_places_that_cannot_be_are_refused_before_anything_runs(
    exports: CompareExports, as_json: bool, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        check_answer(AnswerOptions(exports=exports, as_json=as_json))
