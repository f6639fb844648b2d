"""A small part of what benches/kill_and_signal.py does: commands end at a random moment, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benches" / "kill_and_signal.py"


# Some seconds each, and more on a busy machine.
@pytest.mark.timeout(900)
def test_kills_and_signals_leave_nothing() -> None:
    words = ["--kills", "3", "--signals", "3", "--seed", "5", "--longest-s", "6"]
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False, timeout=840)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kill, clean: 3, signal, clean: 3" in done.stdout
