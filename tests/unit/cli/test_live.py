"""The live view on a terminal, and the plain lines where there is none or nobody wants it."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.planned import judge
from fixtures.records import blocks_of, failed_trial, global_counters, trial
from pgclinic.cli.bench_live import BenchLive
from pgclinic.cli.live import SHOW_CURSOR, LiveView
from pgclinic.model.progress import Progress

STUDY = global_counters()
AT = Progress(block=1, blocks=5, arm="held", stage="measuring", tps=(100.0,), left_s=60.0)
RATIOS = (0.60, 0.61, 0.59, 0.605, 0.595, 0.60, 0.61, 0.62)


class Terminal(io.StringIO):
    """A terminal of so many columns; no file descriptor says so, the environment does."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def run_through(live: LiveView) -> None:
    """A run of eight blocks with a doubt in each."""
    live.stage("filling")
    for blocks in range(1, len(RATIOS) + 1):
        live.progress(replace(AT, block=blocks))
        done = trial(STUDY, 2 * blocks, blocks, "held", [900.0] * 10, doubts=(starved(0.4),))
        live.trial(done)
        live.verdict(STUDY, judge(STUDY, blocks_of(STUDY, RATIOS[:blocks])))


def test_a_terminal_has_a_view_and_what_leaves_it_stays_above(terminal: Terminal) -> None:
    with LiveView(terminal) as live:
        run_through(live)
        live.progress(replace(AT, block=9))
    written = terminal.getvalue()
    assert written.count("  doubt of block 1, held: ") == 1
    assert "doubt of block 2" not in written
    assert written.count("  block 1   0.60x   held ") == 1
    assert written.count("  block 2   0.61x   held ") == 1
    assert "  block 3   0.59x   held" not in written
    assert "so far 0.60x, 95 % CI" in written
    assert written.endswith(SHOW_CURSOR)


@pytest.mark.parametrize("how", ["plain", "TERM", "file"])
def test_plain_lines_have_no_control_sequence(how: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "TERM":
        monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO() if how == "file" else terminal
    with LiveView(out, plain=how == "plain") as live:
        run_through(live)
    assert "\x1b" not in out.getvalue() and "\r" not in out.getvalue()
    lines = out.getvalue().splitlines()
    assert lines[0] == "  filling"
    assert len(lines) == 1 + len(RATIOS)
    assert all("90.0 TPS over 10 s" in line or "900 TPS over 10 s" in line for line in lines[1:])


def test_without_colours_only_the_cursor_moves(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with LiveView(terminal) as live:
        run_through(live)
    assert "m" not in {part.lstrip("0123456789;?")[:1] for part in terminal.getvalue().split("\x1b[")[1:]}
    coloured = Terminal()
    monkeypatch.delenv("NO_COLOR")
    with LiveView(coloured) as live:
        run_through(live)
    assert "\x1b[36m" in coloured.getvalue()


def test_seconds_are_drawn_four_times_a_second_at_most(terminal: Terminal) -> None:
    with LiveView(terminal) as live:
        live.progress(AT)
        for second in range(500):
            live.progress(replace(AT, tps=(float(second),)))
        drawn = terminal.getvalue().count("measuring")
        live.progress(replace(AT, stage="probing"))
    assert drawn < 50
    assert "probing" in terminal.getvalue()


def test_a_failed_trial_stays_on_a_terminal(terminal: Terminal) -> None:
    with LiveView(terminal) as live:
        live.progress(AT)
        live.trial(failed_trial(STUDY, 2, 1, "held", "killed"))
    assert "block 1 of 5   held   failed: killed" in terminal.getvalue()


def test_a_terminal_that_became_narrower_is_cleared_as_high_as_it_is_now(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LiveView(terminal) as live:
        live.draw("x" * 70)
        before = len(terminal.getvalue())
        monkeypatch.setenv("COLUMNS", "30")
        live.draw("y")
        # 70 cells are three lines of 30: two more than were drawn.
        assert terminal.getvalue()[before:].count("\x1b[1A") == 2


def test_nothing_is_drawn_after_the_end(terminal: Terminal) -> None:
    with LiveView(terminal) as live:
        live.progress(AT)
    ended = terminal.getvalue()
    live.progress(replace(AT, stage="probing"))
    assert terminal.getvalue() == ended


def test_an_error_leaves_the_cursor_visible(terminal: Terminal) -> None:
    with pytest.raises(KeyboardInterrupt), LiveView(terminal) as live:
        live.progress(AT)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith(SHOW_CURSOR)


def test_a_bench_keeps_the_last_line_of_a_fill(terminal: Terminal) -> None:
    with BenchLive(terminal) as live:
        live.filled("50000 of 100000 tuples (50%) done")
        live.filled("100000 of 100000 tuples (100%) done")
        live.say("vacuuming...")
    ended, _, kept = terminal.getvalue().rpartition("100000 of 100000 tuples (100%) done\n")
    assert "50000 of" in ended
    # Nothing goes up to the line that is kept.
    assert "vacuuming...\n" in kept and kept.partition("vacuuming...")[0].count("\x1b[1A") == 1
