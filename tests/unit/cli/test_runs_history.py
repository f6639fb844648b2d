"""``pgclinic runs history``: series of runs that can be compared, their changes, files, errors and exit codes."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fixtures.checkups import HEALTHY, SICK
from fixtures.comparison import comparison
from fixtures.kept_runs import HOUR_US, PLAN, judged_study, kept_bench, kept_checkup
from fixtures.records import STARTED_US, run_info
from pgclinic.cli.main import run
from pgclinic.model.run import RunKind
from pgclinic.store.run_folder import RunFolder


def noisy(means: Sequence[float]) -> list[float]:
    draw = random.Random(5)
    return [mean * draw.gauss(1, 0.02) for mean in means]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are wrapped for a terminal, and tests elsewhere leave one of another width."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve load tests; the last four ran with another setting, at four fifths of the TPS."""
    parent = tmp_path / "runs"
    for hour, tps in enumerate(noisy([1000.0] * 8 + [800.0] * 4)):
        path = kept_bench(parent, tps, hour)
        if hour >= 8:
            change_info(path, command=["pgclinic", "bench", "-c", "2", "-T", "5", "--set", "fsync=on"])
    return parent


def change_info(path: Path, **changes: object) -> None:
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, **changes}))


def history(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["runs", "history", *words, "--json"]) == 0
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


def figures(series: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in series["figures"]}


def test_a_load_test_that_became_slower_is_found_at_its_run(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (series,) = history(capsys, "tpcb-like", "--runs", str(runs))["series"]
    assert [Path(one["path"]).name for one in series["runs"]] == [f"bench-{hour}" for hour in range(12)]
    found = figures(series)
    assert list(found) == ["tps", "p50", "p95", "p99"]
    for name, sign in (("tps", -1), ("p50", 1), ("p99", 1)):
        (change,) = found[name]["changes"]
        assert found[name]["state"] == change["turn"] == "worse"
        assert (change["run_before"], change["run"], change["runs_since"]) == (7, 8, 4)
        assert change["change"] * sign > 0.15
        assert change["differs"] == [{"label": "command", "a": "-", "b": "--set fsync=on"}]
    assert run(["runs", "history", "tpcb-like", "--runs", str(runs), "--figure", "tps"]) == 0
    text = capsys.readouterr().out
    assert "of 1 figure 1 changed for the worse" in text
    assert "(run bench-8): " in text
    assert "command: now --set fsync=on" in text
    assert "latency" not in text
    assert "windows of 12 runs, p below 0.001" in text


def test_a_change_for_the_worse_ends_with_3_while_it_is_news(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["runs", "history", "tpcb-like", "--runs", str(runs)]
    assert run(asked) == 0
    assert run([*asked, "--fail-on", "worse"]) == 3
    # After so many more runs it is how things are.
    for hour, tps in enumerate(noisy([800.0] * 8), start=12):
        kept_bench(runs, tps, hour)
    capsys.readouterr()
    assert run([*asked, "--fail-on", "worse"]) == 0
    assert "none changed in the newest 10 runs" in capsys.readouterr().out


def test_junit_has_a_case_for_each_figure(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "history.xml"
    asked = ["runs", "history", "tpcb-like", "--runs", str(runs), "-o", str(file)]
    assert run([*asked, "--fail-on", "worse"]) == 3
    (suite,) = ElementTree.fromstring(file.read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "4", "0")
    assert [case.get("name") for case in suite] == ["TPS", "latency p50", "latency p95", "latency p99"]
    (failure,) = suite[0]
    assert "since 20" in (failure.get("message") or "")
    assert "--set fsync=on" in (failure.text or "")
    for hour in range(8, 12):
        for inner in (runs / f"bench-{hour}").iterdir():
            inner.unlink()
    assert run([*asked, "--force", "--fail-on", "worse"]) == 0
    (suite,) = ElementTree.fromstring(file.read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("4", "0")


def test_runs_that_cannot_be_compared_are_series_of_their_own(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = json.loads((runs / "bench-0" / "run.json").read_text())["machine"]
    for hour in (3, 4, 5):
        change_info(runs / f"bench-{hour}", machine={**machine, "cpu_model": "Xeon", "cores": 64})
    kept_bench(runs, 2000.0, 20, "-c", "8", "-T", "5")
    asked = ("tpcb-like", "--runs", str(runs))
    series = history(capsys, *asked)["series"]
    assert [len(one["runs"]) for one in series] == [9, 3, 1]
    assert all(one["differs"] == ["machine", "load"] for one in series)
    assert {figure["state"] for one in series[1:] for figure in one["figures"]} == {"too_few"}
    assert run(["runs", "history", *asked]) == 0
    text = capsys.readouterr().out
    assert "3 series, which cannot be compared with each other" in text
    assert "machine: Xeon, 64 cores" in text
    assert "3 runs: change points need 6, so the runs are listed" in text
    (elsewhere,) = history(capsys, *asked, "--machine", "xeon")["series"]
    assert len(elsewhere["runs"]) == 3
    file = tmp_path / "few.xml"
    assert run(["runs", "history", *asked, "--machine", "xeon", "-o", str(file)]) == 0
    assert ElementTree.fromstring(file.read_text())[0].get("skipped") == "4"


def test_a_study_has_the_ratio_of_each_claim_and_a_change_of_it_never_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for hour, ratio in enumerate(noisy([0.5] * 6 + [0.8] * 6)):
        tool = {"pgclinic": "0.1.0" if hour < 6 else "0.2.0", "engine": "0.1.0"}
        path = judged_study(tmp_path, ratio, hour)
        info = json.loads((path / "run.json").read_text())
        change_info(path, tool={**info["tool"], **tool})
    RunFolder.create(tmp_path, "unfinished", run_info(), PLAN)
    asked = ("global-counters", "--runs", str(tmp_path))
    found = history(capsys, *asked)
    (series,) = found["series"]
    assert [Path(path).name for path in found["left_out"]] == ["unfinished"]
    figure = series["figures"][0]
    (change,) = figure["changes"]
    assert figure["unit"] == "ratio"
    assert (change["run"], change["turn"]) == (6, "changed")
    assert {"label": "pgclinic", "a": "0.1.0", "b": "0.2.0"} in change["differs"]
    newest = figure["points"][-1]
    assert newest["low"] < newest["value"] < newest["high"]
    assert newest["word"]
    assert run(["runs", "history", *asked, "--fail-on", "worse"]) == 0
    assert "95 % CI" in capsys.readouterr().out


def test_comparisons_of_other_arms_are_other_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for hour in range(3):
        info = run_info(kind=RunKind.COMPARE, name="compare", started_epoch_us=STARTED_US + hour * HOUR_US)
        folder = RunFolder.create(tmp_path, f"compare-{hour}", info, PLAN)
        answer = comparison([1.5] * 6)
        folder.write_comparison(answer)
        if hour == 2:
            text = (folder.path / "comparison.json").read_text().replace(answer.b.about, "work_mem=1GB")
            (folder.path / "comparison.json").write_text(text)
    series = history(capsys, "compare", "--runs", str(tmp_path))["series"]
    assert [len(one["runs"]) for one in series] == [2, 1]
    assert series[0]["differs"] == ["b"]
    (figure,) = series[0]["figures"]
    assert figure["points"][0]["value"] == pytest.approx(1.5, rel=0.05)


def test_checkups_say_which_findings_came_and_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for hour, found in enumerate([HEALTHY, HEALTHY, SICK, SICK, HEALTHY]):
        kept_checkup(tmp_path, found, name="shop", started_epoch_us=STARTED_US + hour * HOUR_US)
    asked = ("shop", "--runs", str(tmp_path))
    (series,) = history(capsys, *asked)["series"]
    found_names = figures(series)
    assert {"critical", "warning", "notice"} <= set(found_names)
    assert sum(found_names[name]["points"][2]["value"] for name in ("critical", "warning", "notice")) == len(
        SICK.findings
    )
    changed = [{one["change"] for one in step["changed"]} for step in series["findings"]]
    assert changed[0] == changed[1] == changed[3] == set()
    assert "new" in changed[2]
    assert "gone" in changed[4]
    assert series["findings"][2]["first"]
    file = tmp_path / "history.html"
    assert run(["runs", "history", *asked, "-o", str(file)]) == 0
    # What names of tables hold is read by its owner alone.
    assert file.stat().st_mode & 0o077 == 0
    capsys.readouterr()
    assert run(["runs", "history", *asked]) == 0
    text = capsys.readouterr().out
    assert "    new      " in text
    assert "    gone     " in text


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_it_is_written_in_every_form_and_overwrites_nothing(
    suffix: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"history{suffix}"
    asked = ["runs", "history", "tpcb-like", "--runs", str(runs), "-o", str(file)]
    assert run(asked) == 0
    assert capsys.readouterr().out.strip() == str(file)
    assert "bench-8" in file.read_text()
    assert run(asked) == 1
    assert "exists already" in capsys.readouterr().err


def test_runs_below_the_page_are_linked_to_their_reports(tmp_path: Path) -> None:
    for hour in range(3):
        judged_study(tmp_path / "runs", 0.5, hour)
    asked = ["runs", "history", "global-counters", "--runs", str(tmp_path / "runs"), "-o"]
    assert run([*asked, str(tmp_path / "history.html")]) == 0
    assert '<a href="runs/study-1/report.html">study-1</a>' in (tmp_path / "history.html").read_text()
    (tmp_path / "elsewhere").mkdir()
    assert run([*asked, str(tmp_path / "elsewhere" / "history.html")]) == 0
    assert "<a href" not in (tmp_path / "elsewhere" / "history.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tpcb-lik",), "did you mean tpcb-like?"),
        (("tpcb-like", "--figure", "tsp"), "did you mean tps?"),
        (("tpcb-like", "--kind", "bnech"), "did you mean bench?"),
        (("tpcb-like", "--machine", "Xeon"), "unknown machine 'Xeon'"),
        (("tpcb-like", "--fail-on", "better"), "unknown condition 'better'"),
        (("tpcb-like", "-o", "history.htm"), "did you mean .html?"),
    ],
)
def test_a_wrong_word_names_the_nearest(
    runs: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["runs", "history", *words, "--runs", str(runs)]) == 1
    assert message in capsys.readouterr().err


def test_a_name_without_a_figure_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunFolder.create(tmp_path, "unfinished", run_info(), PLAN)
    assert run(["runs", "history", "global-counters", "--runs", str(tmp_path)]) == 1
    assert "no run of global-counters has a figure" in capsys.readouterr().err


def test_without_the_library_the_extra_is_named(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "otava.analysis", None)
    assert run(["runs", "history", "tpcb-like", "--runs", str(runs)]) == 1
    assert "pip install 'pgclinic[history]'" in capsys.readouterr().err
