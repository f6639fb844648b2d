"""Closed, full and abandoned standard streams, users without a name or a home, and errors that nobody foresaw."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from pgclinic.cli import main as command
from pgclinic.cli.unexpected_error import report_unexpected_error, without_secrets
from pgclinic.errors import UsageError
from pgclinic.lab.home import HOME_VARIABLE, lab_home

PGCLINIC = Path(sys.executable).parent / "pgclinic"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("pgclinic", str(PGCLINIC), 1)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("words", ["study show global-counters", "bench --help"])
def test_a_full_stdout_is_one_line(words: str) -> None:
    done = shell(f"pgclinic {words} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "pgclinic: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("redirection", ["| true", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_stream_that_is_gone_is_no_error(redirection: str) -> None:
    done = shell(f"set -o pipefail; pgclinic study show global-counters {redirection}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_lacks_our_characters_is_no_error() -> None:
    done = shell("pgclinic study show global-counters", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


def test_a_folder_that_cannot_be_written_is_named() -> None:
    done = shell("pgclinic study new mine --folder /proc")
    assert done.returncode == 2
    assert done.stderr.startswith("pgclinic: cannot ")
    assert "/proc/mine.toml" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_argument_that_is_not_utf_8_is_no_error() -> None:
    done = shell("pgclinic study show $'\\xff.toml'")
    assert done.returncode == 1
    assert "cannot read the study file" in done.stderr


def test_an_unexpected_error_is_one_line_and_a_report(tmp_path: Path) -> None:
    script = (
        "import sys; from pgclinic.cli import main as command\n"
        "def broken(arguments): raise ZeroDivisionError('by password=hunter22 of postgresql://me:other-word@host/x')\n"
        "command.run = broken; command.main()"
    )
    words = ["lab", "list", "--dsn", "postgresql://me:third%20word@host/x"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, HOME_VARIABLE: str(tmp_path), "PGPASSWORD": "fourth-word"},
    )
    assert done.returncode == 2
    (report,) = (tmp_path / "error-reports").iterdir()
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "pgclinic: unexpected error: ZeroDivisionError" in done.stderr
    assert f"its report is {report}\n" in done.stderr
    text = report.read_text()
    assert "Traceback" in text
    assert "lab list --dsn" in text
    assert report.stat().st_mode & 0o077 == 0
    for secret in ("hunter22", "other-word", "third%20word", "third word"):
        assert secret not in text + done.stderr


def test_a_report_goes_where_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    line = report_unexpected_error(ValueError("x"))
    assert f"its report is {tmp_path}/pgclinic-" in line
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert "its report could not be written" in report_unexpected_error(ValueError("x"))


def test_secrets_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "from-the-environment")
    monkeypatch.setattr(sys, "argv", ["pgclinic", "bench", "host=x password='two words'"])
    shown = without_secrets("a from-the-environment b two words c sslpassword = xyz d postgres://u:pw@h")
    assert shown == "a (hidden) b (hidden) c sslpassword = (hidden) d postgres://u:(hidden)@h"


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nobody(uid: int) -> NoReturn:
        raise KeyError(uid)

    for name in (HOME_VARIABLE, "HOME", "XDG_CACHE_HOME", "USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(UsageError, match="no home directory"):
        lab_home()
    assert command.run(["lab", "list"]) == 1
    assert f"set {HOME_VARIABLE}" in capsys.readouterr().err


def test_a_user_without_a_name_may_write_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> NoReturn:
        raise KeyError(uid)

    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert command.run(["study", "new", "mine", "--folder", str(tmp_path)]) == 0
    assert f'"user {os.getuid()}"' in (tmp_path / "mine.toml").read_text()
