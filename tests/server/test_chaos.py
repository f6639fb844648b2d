"""A part of what benches/chaos.py does, another one in each run: processes are killed, nothing is lost or left."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benches" / "chaos.py"
VERBS = ("study", "compare", "compare --dsn", "assay", "search", "checkup --prove", "capture twin", "advise", "bench")


# Half a minute each, and more on a busy machine.
@pytest.mark.timeout(1800)
@pytest.mark.drawn(0.5)
def test_processes_are_killed_and_nothing_is_lost_or_left() -> None:
    seed = int(os.environ["PGCLINIC_TEST_SEED"], 16)
    verbs = random.Random(seed).sample(VERBS, 3)
    words = ["--kills", "4", "--seed", str(seed), "--limit-s", "600", "--no-fleet"]
    words += [word for verb in (*verbs, "lab start") for word in ("--verb", verb)]
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False, timeout=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 wrong" in done.stdout
