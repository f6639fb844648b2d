"""Who used the processors, by two looks at all processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from pgclinic.model.doctor import BusyProgram
from pgclinic.observe.other_programs import ProgramUse, busy_programs, programs_now


def test_processes_of_a_name_are_added_up_and_the_busiest_is_first() -> None:
    before = ProgramUse(at_s=10.0, cpu_s={(1, 5): 3.0, (2, 5): 1.0}, names={(1, 5): "a", (2, 5): "b"})
    after = ProgramUse(
        at_s=12.0,
        # The last one has the id of an ended process, and counts from its own start.
        cpu_s={(1, 5): 4.0, (3, 9): 2.0, (4, 9): 1.0, (2, 8): 0.0},
        names={(1, 5): "a", (3, 9): "b", (4, 9): "b", (2, 8): "c"},
    )
    assert busy_programs(before, after) == (BusyProgram(name="b", cores=1.5), BusyProgram(name="a", cores=0.5))
    assert busy_programs(before, before) == ()


def test_a_busy_process_is_seen_and_this_one_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            before = programs_now()
            limit = time.monotonic() + 30
            while not (found := busy_programs(before, after := programs_now())) and time.monotonic() < limit:
                time.sleep(0.1)
            assert found
            assert busy.pid in {pid for pid, _ in after.cpu_s}
            assert os.getpid() not in {pid for pid, _ in after.cpu_s}
        finally:
            busy.kill()
