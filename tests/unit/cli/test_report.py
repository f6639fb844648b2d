"""``pgclinic report``: the runs of all commands as a page, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import tuning
from fixtures.checkups import HEALTHY
from fixtures.comparison import asked, measured
from fixtures.kept_runs import kept_bench, kept_checkup, kept_study
from fixtures.planned import plan_of
from fixtures.records import run_info
from pgclinic.cli.main import run
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.store.checkup_folder import write_checkup
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.compare import PROFILE


def comparison(parent: Path) -> Path:
    compared = asked(blocks=6)
    info = run_info(kind=RunKind.COMPARE, name="compare")
    folder = RunFolder.create(parent, "a-comparison", info, plan_of(compared, compared.profiles[PROFILE]))
    for record in measured([1.5] * 6):
        folder.add_trial(record)
    return folder.path


def tuned(found: Assay | Search | Bisect) -> Callable[[Path], Path]:
    def make(parent: Path) -> Path:
        kind = RunKind(type(found).__name__.lower())
        folder = RunFolder.create(parent, f"a-{kind.value}", run_info(kind=kind, name=kind.value), tuning.plan())
        folder.write_tuning(found)
        return folder.path

    return make


MADE = {
    "study": kept_study,
    "compare": comparison,
    "checkup": kept_checkup,
    "assay": tuned(tuning.ASSAY),
    "search": tuned(tuning.SEARCH),
    "bisect": tuned(tuning.BISECT),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_run_of_every_kind_is_written_in_every_form(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = MADE[kind](tmp_path / "runs")
    assert run(["report", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == str(folder / "report.html")
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    for suffix in (".html", ".md", ".json"):
        file = tmp_path / f"written{suffix}"
        assert run(["report", folder.name, "--runs", str(folder.parent), "-o", str(file)]) == 0
        assert file.stat().st_size > 200
        assert run(["report", str(folder), "-o", str(file)]) == 1
        assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "written.html").read_text() == page
    assert (tmp_path / "written.md").read_text().startswith(("#", "**"))
    assert json.loads((tmp_path / "written.json").read_text())["report"] == str(folder / "report.html")


def test_what_names_of_tables_hold_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "checkup.md"
    assert run(["report", str(kept_checkup(tmp_path)), "-o", str(file)]) == 0
    assert file.stat().st_mode & 0o077 == 0


def test_a_bench_that_was_not_observed_has_figures_and_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept_bench(tmp_path)
    assert run(["report", str(folder)]) == 1
    assert "was not observed" in capsys.readouterr().err
    assert run(["report", str(folder), "-o", str(tmp_path / "bench.md")]) == 0
    assert "tps = " in (tmp_path / "bench.md").read_text()


def test_nothing_is_written_for_a_run_without_answer_or_a_wrong_suffix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unfinished = RunFolder.create(tmp_path, "an-assay", run_info(kind=RunKind.ASSAY), tuning.plan()).path
    assert run(["report", str(unfinished)]) == 1
    assert "has no answer yet" in capsys.readouterr().err
    assert not (unfinished / "report.html").exists()
    assert run(["report", str(unfinished), "-o", str(tmp_path / "report.htm")]) == 1
    assert "did you mean .html?" in capsys.readouterr().err


def test_two_runs_stand_side_by_side_with_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = kept_study(tmp_path / "a"), kept_study(tmp_path / "b")
    info = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**info, "profile": "full", "settings": {"work_mem": "64MB"}}))
    assert run(["report", str(one), str(other)]) == 0
    text = capsys.readouterr().out
    assert "a  quick" in text
    assert "b  full" in text
    assert "setting work_mem" in text
    assert "intervals overlap" in text
    assert "Two runs are not a comparison" in text
    for suffix, words in ((".html", "Two runs side by side</h1>"), (".md", "### Two runs"), (".json", '"figures"')):
        file = tmp_path / f"both{suffix}"
        assert run(["report", str(one), str(other), "-o", str(file)]) == 0
        assert words in file.read_text()


def test_what_cannot_be_compared_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(kept_study(tmp_path)), str(kept_checkup(tmp_path))]) == 0
    assert "runs of different commands" in capsys.readouterr().out
    elsewhere = kept_study(tmp_path / "elsewhere")
    info = json.loads((elsewhere / "run.json").read_text())
    info["machine"]["cores"] = 64
    (elsewhere / "run.json").write_text(json.dumps(info))
    assert run(["report", str(kept_study(tmp_path / "here")), str(elsewhere)]) == 0
    assert "They ran on different machines" in capsys.readouterr().out


def test_two_checkups_show_what_became_of_each_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = kept_checkup(tmp_path / "before"), kept_checkup(tmp_path / "after")
    write_checkup(after, HEALTHY)
    assert run(["report", str(before), str(after)]) == 0
    text = capsys.readouterr().out
    assert "Findings, from a to b" in text
    assert "  gone     " in text


@pytest.mark.parametrize("found", [tuning.ASSAY, tuning.SEARCH], ids=["assay", "search"])
def test_two_tuning_runs_show_the_effect_of_each_setting(
    found: Assay | Search, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = tuned(found)
    assert run(["report", str(make(tmp_path / "a")), str(make(tmp_path / "b"))]) == 0
    text = capsys.readouterr().out
    assert "together" in text
    assert "random_page_cost" in text
