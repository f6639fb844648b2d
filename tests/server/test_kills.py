"""A small part of what benches/kill_and_signal.py does: commands end at a random moment, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benches" / "kill_and_signal.py"


def test_kills_and_signals_leave_nothing() -> None:
    words = ["--kills", "4", "--signals", "4", "--seed", "5", "--longest-s", "6"]
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kill, clean: 4, signal, clean: 4" in done.stdout
