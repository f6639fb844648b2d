"""Judging where nothing can be written, and run folders with strange things in them: the verdict is shown."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.comparison import asked, measured
from fixtures.headline import headline_text
from fixtures.planned import plan_of
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.cli.main import run
from pgclinic.store import run_folder
from pgclinic.store.run_folder import RunFolder, read_run

STUDY = global_counters()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    trials, _ = StudyRun().make()
    made = RunFolder.create(tmp_path, "study", run_info(), plan_of(STUDY, STUDY.profiles["quick"]), headline_text())
    for record in trials:
        made.add_trial(record)
    return made


@pytest.fixture
def compared(tmp_path: Path) -> RunFolder:
    info = replace(run_info(), kind="compare", name="compare", profile="compare")
    made = RunFolder.create(tmp_path, "compare", info, plan_of(asked(), asked().profiles["compare"]))
    for record in measured([1.2, 1.25, 1.22, 1.21, 1.24]):
        made.add_trial(record)
    return made


@pytest.fixture
def refused(folder: RunFolder, compared: RunFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Root writes into every folder, so the refusal is put where the kernel would give it."""

    def from_now_on(number: int) -> None:
        def refuse(**_: object) -> tuple[int, str]:
            raise OSError(number, "refused")

        monkeypatch.setattr(run_folder.tempfile, "mkstemp", refuse)

    return from_now_on


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_the_verdict_of_a_study_is_shown(
    number: int, folder: RunFolder, refused: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(number)
    assert run(["study", "judge", str(folder.path)]) == 0
    said = capsys.readouterr()
    assert "REPLICATED" in said.out
    assert "are not stored" in said.err
    assert str(folder.path) in said.err
    assert "report.html" not in said.out
    assert run(["study", "judge", str(folder.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] is None


def test_a_plan_without_its_profile_is_damaged(compared: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    file = compared.path / "plan.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"profile_name": "nowhere"}))
    assert run(["study", "judge", str(compared.path)]) == 2
    assert "plan.json is damaged: it has no profile 'nowhere'" in capsys.readouterr().err


def test_the_answer_of_a_comparison_is_shown(
    compared: RunFolder, refused: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(errno.EROFS)
    assert run(["study", "judge", str(compared.path)]) == 0
    said = capsys.readouterr()
    assert "FASTER" in said.out
    assert "are not stored" in said.err


def test_strange_things_among_the_trials_are_named_and_left_out(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = folder.path / "trials"
    before = read_run(folder.path).trials
    for name in ("1 (copy)", "01", "-3", "²", "0"):
        (trials / name).mkdir()
        (trials / name / "record.json").write_bytes((trials / "1" / "record.json").read_bytes())
    (trials / ".DS_Store").write_bytes(b"\0")
    (trials / "77").write_bytes(b"\0")
    assert read_run(folder.path).trials == before
    assert folder.last_number() == folder.finished() == len(before)
    assert run(["study", "judge", str(folder.path)]) == 0
    said = capsys.readouterr().err
    for name in ("1 (copy)", "01", "-3", "²", "0", ".DS_Store", "77"):
        assert f"{trials / name} is not a trial" in said


def test_a_run_without_trials_names_the_folder(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.path / "trials").rename(folder.path / "gone")
    assert run(["study", "judge", str(folder.path)]) == 2
    assert f"{folder.path}/trials" in capsys.readouterr().err
