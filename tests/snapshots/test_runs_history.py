"""What ``runs history`` prints and writes of load tests that became slower, of studies and of checkups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.checkups import HEALTHY, SICK
from fixtures.kept_runs import HOUR_US, judged_study, kept_bench, kept_checkup
from fixtures.records import STARTED_US
from fixtures.snapshots import Snapshots, page_sections
from pgclinic.cli.main import run


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["runs", "history", *words, "--runs", "runs"]) == 0
    return capsys.readouterr().out


def test_load_tests(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for hour in range(12):
        path = kept_bench(Path("runs"), (1000 if hour < 8 else 700) * (1 + 0.02 * (hour % 3 - 1)), hour)
        if hour >= 8:
            info = json.loads((path / "run.json").read_text())
            info["command"] += ["--set", "fsync=on"]
            (path / "run.json").write_text(json.dumps(info))
    kept_bench(Path("runs"), 2000.0, 12, "-c", "8", "-T", "5")
    snapshots.check("load_tests", printed(capsys, "tpcb-like"))
    printed(capsys, "tpcb-like", "-o", "history.html")
    snapshots.check_page("load_tests_page", page_sections(Path("history.html").read_text()))
    printed(capsys, "tpcb-like", "-o", "history.xml")
    snapshots.check("load_tests_junit", Path("history.xml").read_text())


def test_studies_and_checkups(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for hour in range(7):
        judged_study(Path("runs"), 0.5 * (1 + 0.02 * (hour % 3 - 1)), hour)
    for hour, found in enumerate([HEALTHY, SICK, HEALTHY]):
        folder = kept_checkup(Path("runs"), found, name="shop", started_epoch_us=STARTED_US + hour * HOUR_US)
        # Its name has the time of the test.
        folder.rename(f"runs/checkup-{hour}")
    snapshots.check("studies", printed(capsys, "global-counters"))
    snapshots.check("checkups", printed(capsys, "shop"))
