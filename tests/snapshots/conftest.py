"""What every snapshot depends on besides its records: the width of the terminal and the time zone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.snapshots import TEXTS, Snapshots


@pytest.fixture(autouse=True)
def same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("PGCLINIC_RUNS", raising=False)
    monkeypatch.chdir(tmp_path)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def snapshots(request: pytest.FixtureRequest) -> Snapshots:
    """The texts of the module that asks for them, in a folder of its name."""
    return Snapshots(TEXTS / request.path.stem.removeprefix("test_"), request.config.getoption("--snapshot-update"))
