"""The live view and the verdict on a real terminal, through tmux."""

from __future__ import annotations

import re
import shlex
import subprocess
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


def started(command: Command, terminal: Terminal, *more: str) -> None:
    """A study of four blocks of a few seconds on the terminal; at its end the exit code is printed."""
    order = shlex.join([str(PGCLINIC), "study", "run", command.study(blocks=4), "--seed", "7", *more])
    line = f"clear; cd {shlex.quote(str(command.folder))}; {order}; echo code $?"
    terminal.tmux("send-keys", "-t", terminal.name, line, "Enter")


def has_cursor(terminal: Terminal) -> bool:
    return terminal.tmux("display-message", "-p", "-t", terminal.name, "#{cursor_flag}").strip() == "1"


@pytest.mark.drawn(0.2)
def test_a_run_shows_its_blocks_so_far_and_then_the_verdict(command: Command, terminal: Terminal) -> None:
    started(command, terminal)
    live = re.compile(r"block 1 of 4\s+(free|held)\s+measuring\s+\S+ left\n  TPS\s+\S+  [\d,.]+\n  hits/txn\s")
    screen = wait_for(lambda: live.search(terminal.screen()) and terminal.screen(), 60)
    assert len(re.findall(r"block \d of 4", screen)) == 1, screen
    assert not has_cursor(terminal)

    plot = re.compile(
        r"  block 1 .*●.*\d\.\d\dx\n  block 2 .*●.*x\n  so far .*◆.*x\n  so far \S+x, no CI yet, 2 blocks: "
    )
    screen = wait_for(lambda: plot.search(terminal.screen()) and terminal.screen(), 90)
    assert len(re.findall(r"block \d of 4", screen)) == 1, screen

    # Half of what is drawn no longer fits: the terminal wraps it, and the view still replaces all of it.
    terminal.tmux("resize-window", "-t", terminal.name, "-x", "62", "-y", "30")
    narrow = re.compile(r"  so far \S+x, no CI yet, 3 blocks")
    screen = wait_for(lambda: narrow.search(terminal.screen()) and terminal.screen(), 90)
    assert len(re.findall(r"block \d of 4", screen)) == 1, screen
    assert len(re.findall(r"^  so far", screen, re.MULTILINE)) == 2, screen

    final = wait_for(lambda: "code " in (text := terminal.screen()) and text, 90)
    assert "report.html" in final
    assert "●" not in final and not re.search(r"block \d of 4", final), "the live view was not cleared"
    assert has_cursor(terminal)


@pytest.mark.drawn(0.2)
def test_ctrl_c_on_the_keyboard_ends_it(command: Command, terminal: Terminal) -> None:
    started(command, terminal)
    wait_for(lambda: "TPS" in terminal.screen(), 60)
    assert not has_cursor(terminal)
    terminal.tmux("send-keys", "-t", terminal.name, "C-c")
    screen = wait_for(lambda: "code 130" in (text := terminal.screen()) and text, 20)
    assert "interrupted" in screen
    assert "Traceback" not in screen
    assert "TPS" not in screen
    assert has_cursor(terminal)


@pytest.mark.drawn(0.2)
def test_plain_lines_on_a_terminal(command: Command, terminal: Terminal) -> None:
    written = command.folder / "written"
    started(command, terminal, "--plain")
    terminal.tmux("pipe-pane", "-O", "-t", terminal.name, f"cat > {shlex.quote(str(written))}")
    wait_for(lambda: re.search(r"block 2 of 4\s+\w+\s+[\d,.]+ TPS over", terminal.screen()), 90)
    terminal.tmux("send-keys", "-t", terminal.name, "C-c")
    wait_for(lambda: "code 130" in terminal.screen(), 20)
    lines = written.read_text(encoding="utf-8").partition("interrupted")[0].splitlines()
    first = next(at for at, line in enumerate(lines) if "TPS over" in line)
    assert "\x1b" not in "".join(lines[first:]) and "●" not in "".join(lines)


@pytest.mark.drawn(0.2)
def test_an_interval_without_a_lower_bound_says_at_least(command: Command, terminal: Terminal) -> None:
    """No transaction of one arm ends while it is measured, so nobody knows how slow it is at most."""
    for name, wait_s in (("fast", 0.01), ("slow", 6)):
        (command.folder / f"{name}.sql").write_text(f"select pg_sleep({wait_s});\n", encoding="utf-8")
    words = ["compare", "--a", "script=fast.sql", "--b", "script=slow.sql", "--warm-up", "0s", "--measure", "2s"]
    order = shlex.join([str(PGCLINIC), *words, "--sequential", "--no-calibrate", "--blocks", "5", "--seed", "7"])
    line = f"clear; cd {shlex.quote(str(command.folder))}; {order}; echo code $?"
    terminal.tmux("send-keys", "-t", terminal.name, line, "Enter")
    open_end = re.compile(
        r"  so far {2,}├.*◆.*slower\n  so far \S+x slower, 95 % CI at least [\d.,]+x slower, \d blocks"
    )
    wait_for(lambda: open_end.search(terminal.screen()), 120)
    final = wait_for(lambda: "code " in (text := terminal.screen()) and text, 120)
    assert re.search(
        r"b is [\d.,]+x slower than a, 95 % CI at least [\d.,]+x slower, 5 blocks", " ".join(final.split())
    )
