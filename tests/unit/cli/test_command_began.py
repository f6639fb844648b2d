"""A budget counts from the start of the process, not from when its modules were loaded."""

from __future__ import annotations

import subprocess
import sys
import time

from pgclinic.cli.this_command import command_began_s


def test_it_lies_before_now_and_does_not_move() -> None:
    first, second = command_began_s(), command_began_s()
    assert first <= time.monotonic()
    assert abs(first - second) < 0.1


def test_the_time_before_the_import_counts() -> None:
    code = (
        "import time; time.sleep(0.7)\n"
        "from pgclinic.cli.this_command import command_began_s\n"
        "print(time.monotonic() - command_began_s())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(ran.stdout) >= 0.65
