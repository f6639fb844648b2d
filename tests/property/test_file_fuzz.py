"""A bounded part of what benches/fuzz_files.py does for an hour: files that nobody wrote end in errors of ours."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from fixtures.file_fuzz import FileFuzz
from pgclinic.lab.home import HOME_VARIABLE

CASES = 120


@pytest.mark.drawn(0.2)
def test_no_file_ends_in_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, os.environ.get(HOME_VARIABLE, ""))
    # Not a folder of pytest's: the account that runs servers has to get there.
    with tempfile.TemporaryDirectory(prefix="pgclinic-test-") as folder:
        fuzz = FileFuzz(Path(folder))
        found = [finding for number in range(CASES) if (finding := fuzz.case(1, number)) is not None]
    assert not found, "\n".join(f"{one.target} {one.seed}:{one.number} {one.text}" for one in found)
