"""``pgclinic compare`` as it is typed wrongly: named at once, exit code 1, nothing begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.cli.main import run
from pgclinic.study.read import read_study, shipped_studies, study_text

SETTING = ["--b", "set:work_mem=64MB"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "there is nothing to compare"),
        (["--b", "work_mem=64MB"], "did you mean set:work_mem"),
        ([*SETTING, "--fail-if", "b<0.95"], "not a comparison of a and b"),
        ([*SETTING, "--blocks", "3"], "--blocks must be from 4"),
        ([*SETTING, "--blocks", "5", "--budget", "5m"], "--blocks and --budget are mutually exclusive"),
        ([*SETTING, "--budget", "20s"], "the fewest that bound a ratio"),
        ([*SETTING, "--budget", "soon"], "--budget 'soon' is not a valid duration"),
        ([*SETTING, "--measure", "0"], "--measure '0' is not a valid duration"),
        ([*SETTING, "-M", "prepard"], "did you mean prepared"),
        ([*SETTING, "-c", "0"], "'--client'"),
        ([*SETTING, "--set", "work_mem"], "--set 'work_mem' is not NAME=VALUE"),
        ([*SETTING, "--script", "nowhere.sql"], 'could not open file "nowhere.sql"'),
        ([*SETTING, "--junit", "nowhere/x.xml"], "there is no directory nowhere"),
        ([*SETTING, "--markdown", "-", "--json"], "cannot both go to stdout"),
        ([*SETTING, "--tpcc", "--script", "builtin:select-only"], "--script and --tpcc are mutually exclusive"),
        (["--tpcc", "--a", "script=builtin:select-only"], "--a script and --tpcc are mutually exclusive"),
        (["--from", "nowhere.toml"], "cannot read the study file nowhere.toml"),
        (["--from", "study.toml", *SETTING], "--b and --from with a study file are mutually exclusive"),
        (["--from", "a.toml", "--from", "b.toml", "--from", "c.toml"], "--from is given once"),
        (["--from", "a.toml", "--from", "b.toml"], "cannot read a.toml"),
        (["--from", "study.txt"], "a study file ends in .toml"),
        (["--a", "dsn=postgresql://u:secret-word@127.0.0.1:1/x"], "cannot connect"),
        (["--dsn", "postgresql://u:secret-word@127.0.0.1:1/x", *SETTING], "cannot connect"),
        (["--a", "dsn=postgresql://u:secret-word@[half"], "not a connection string"),
        (["--a", "version=13.99"], "unknown PostgreSQL version '13.99'"),
        (["--a", "bindir=/nowhere"], "/nowhere"),
        (["--b", "set:shared_buffers=6TB"], "more than half of this machine's memory"),
        (["--dsn", "host=/nowhere", "--existing", *SETTING], "--existing needs --script"),
    ],
)
def test_it_is_named_and_nothing_is_begun(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *arguments]) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""
    assert "secret-word" not in said.err
    assert list(folder.iterdir()) == []


def test_a_study_with_more_arms_is_sent_to_study_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    larger = next(name for name in shipped_studies() if len(read_study(name)[0].arms) > 2)
    (folder / "study.toml").write_text(study_text(larger), encoding="utf-8")
    assert run(["compare", "--from", "study.toml"]) == 1
    assert "compare needs two" in capsys.readouterr().err
    assert not (folder / "runs").exists()
