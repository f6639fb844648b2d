"""The live line and the verdict on a real terminal, through tmux."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from fixtures.command import PGCLINIC, Command, wait_for


class Terminal:
    """One tmux session of 110 columns."""

    def __init__(self, name: str) -> None:
        self.name = name

    def tmux(self, *words: str) -> str:
        # A server of its own: the developer's tmux stays out of it.
        return subprocess.run(
            ["tmux", "-L", self.name, *words], capture_output=True, text=True, check=True, timeout=10
        ).stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.name)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal(f"pgclinic-{uuid4().hex[:8]}")
    made.tmux("-f", "/dev/null", "new-session", "-d", "-s", made.name, "-x", "110", "-y", "40", "bash --norc")
    yield made
    subprocess.run(["tmux", "-L", made.name, "kill-server"], capture_output=True, check=False, timeout=10)


@pytest.mark.drawn(0.2)
def test_a_run_shows_one_live_line_and_then_the_verdict(command: Command, terminal: Terminal) -> None:
    order = shlex.join([str(PGCLINIC), "study", "run", command.study(held_s=5), "--seed", "7"])
    terminal.tmux("send-keys", "-t", terminal.name, f"clear; cd {shlex.quote(str(command.folder))}; {order}", "Enter")

    live = re.compile(r"block 1 of 2\s+(free|held)\s+\S+\s+[\d,]+ TPS.*left", re.MULTILINE)
    screen = wait_for(lambda: live.search(terminal.screen()) and terminal.screen(), 60)
    assert len(re.findall(r"block \d of 2", screen)) == 1, screen
    time.sleep(2.2)
    assert len(re.findall(r"block \d of 2", terminal.screen())) <= 1, terminal.screen()

    final = wait_for(lambda: "judge" in (text := terminal.screen()) and text, 90)
    assert "INCONCLUSIVE" in final or "INVALID" in final
    assert "report.html" in final
    assert not re.search(r"block \d of 2\s+(free|held).*TPS.*left", final), "the live line was not cleared"


@pytest.mark.drawn(0.2)
def test_ctrl_c_on_the_keyboard_ends_it(command: Command, terminal: Terminal) -> None:
    order = shlex.join([str(PGCLINIC), "study", "run", command.study(), "--seed", "7"])
    line = f"clear; cd {shlex.quote(str(command.folder))}; {order}; echo code $?"
    terminal.tmux("send-keys", "-t", terminal.name, line, "Enter")
    wait_for(lambda: "TPS" in terminal.screen(), 60)
    terminal.tmux("send-keys", "-t", terminal.name, "C-c")
    screen = wait_for(lambda: "code 130" in (text := terminal.screen()) and text, 20)
    assert "interrupted" in screen
    assert "Traceback" not in screen
