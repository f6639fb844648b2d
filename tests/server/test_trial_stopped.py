"""A trial whose own process is stopped for most of its time has failed, and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from fixtures.lab_home import PYTHON_PATH

TRIAL = """
from msgspec.structs import replace
from fixtures.statements import trial_spec
from pgclinic.trial.run import TrialListener, run_trial

spec = trial_spec("18", {})
spec = replace(spec, load=replace(spec.load, measure_s=6.0, warm_up_s=0.5))
record = run_trial(spec, TrialListener(on_second=lambda second: print("second", flush=True)))
print(record.outcome.value, record.failure, [doubt.kind.value for doubt in record.doubts], flush=True)
"""


@pytest.mark.drawn(0.2)
def test_a_trial_that_was_stopped_has_failed() -> None:
    path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), PYTHON_PATH])  # noqa: PTH120
    child = subprocess.Popen(
        [sys.executable, "-c", TRIAL], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "second\n"
        assert child.stdout.readline() == "second\n"
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(child.pid, signal.SIGCONT)
        *_, last = child.stdout.read().splitlines()
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert last.startswith("failed pgclinic was stopped for "), last
    assert " of 6.0 s, the longest time " in last
