"""What a command shows on stderr while it works: a view of a few lines on a terminal, elsewhere plain lines."""

from __future__ import annotations

import os
import shutil
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from pgclinic.model.doubt import Doubt
from pgclinic.model.progress import BESIDE, WAITING, Progress
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.live.progress import trial_line
from pgclinic.report.parts.visible import own_stream, visible_one_by_one, write_own
from pgclinic.report.words.doubts import doubt_words

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

SHOW_CURSOR = "\x1b[?25h"
_LINE_AWAY, _UP = "\x1b[2K", "\x1b[1A"
#: A view is drawn four times a second at most: the same machine measures.
REFRESH_S = 0.25


class TerminalView:
    """A few lines at the end of a terminal that are drawn repeatedly; what is said stays above them.

    Use it in a ``with``; whatever ends the block, the lines are gone and the cursor is there. With ``plain``, and where
    ``out`` is no terminal or one without control sequences, nothing can be drawn.
    """

    def __init__(self, out: TextIO, *, plain: bool = False) -> None:
        self._out = out
        self._terminal = not plain and out.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        self._live: Live | None = None
        self._drawn: list[int] = []
        self._last = ""
        self._is_over = False
        # Trials of a fleet end in threads of their own, and Ctrl-C comes to the first one.
        self._lock = threading.RLock()

    @property
    def size(self) -> os.terminal_size:
        """Columns and rows of the terminal, which is that of stderr: stdout may be a file."""
        try:
            size = os.get_terminal_size(self._out.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size()
        # A terminal that nobody has told its size has none.
        return size if size.columns and size.lines else shutil.get_terminal_size()

    def draw(self, view: Text | str) -> None:
        """Show these lines in place of those that are drawn."""
        from rich.text import Text

        from pgclinic.report.live.view import fitted

        with self._lock:
            if self._is_over:
                return
            size = self.size
            shown = fitted(Text(view), size.columns) if isinstance(view, str) else view
            shown.plain = visible_one_by_one(shown.plain)
            live = self._live = self._live or self._started()
            self._reach_first_line(size.columns)
            live.console.size = (size.columns, size.lines)
            live.update(shown, refresh=True)
            self._drawn, self._last = [line.cell_len for line in shown.split()], shown.plain

    def keep(self) -> None:
        """Keep the drawn lines, and continue below them."""
        if self._live is not None:
            self.say(self._last)
            self.clear()

    def clear(self) -> None:
        """Remove the drawn lines."""
        with self._lock:
            live, self._live = self._live, None
            if live is None:
                return
            try:
                self._reach_first_line(self.size.columns)
                live.stop()
            finally:
                self._drawn = []
                write_own(self._out, SHOW_CURSOR)
                self._out.flush()

    def say(self, text: str) -> None:
        """Print a line that stays, above the drawn ones."""
        with self._lock:
            if self._live is None:
                self._out.write(text + "\n")
                self._out.flush()
                return
            from rich.text import Text

            self._reach_first_line(self.size.columns)
            self._live.console.print(Text(visible_one_by_one(text)), soft_wrap=True)

    def _started(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        from pgclinic.report.parts.colour import colour_wanted

        coloured = colour_wanted(self._out, os.environ)
        console = Console(
            file=own_stream(self._out),
            force_terminal=True,
            color_system="standard" if coloured else None,
            no_color=not coloured,
            highlight=False,
            markup=False,
            legacy_windows=False,
        )
        live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        live.start()
        return live

    def _reach_first_line(self, columns: int) -> None:
        """Go up by as many lines as the drawn ones are more now: a terminal that became narrower has wrapped them."""
        more = sum(max(0, cells - 1) // columns for cells in self._drawn)
        write_own(self._out, (_LINE_AWAY + _UP) * more)
        self._drawn = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over = True
        self.clear()


class LiveView(TerminalView):
    """What an experiment does: its preparation, the seconds of its trials, the blocks so far, doubts as they arise.

    ``beside`` gives the lines that a command adds, for the columns of the terminal.
    """

    def __init__(self, out: TextIO, *, plain: bool = False) -> None:
        super().__init__(out, plain=plain)
        self.beside: Callable[[int], Sequence[Text]] = lambda _: ()
        self._last_stage = ""
        self._progress: Progress | None = None
        self._said: set[str] = set()
        self._judged: tuple[Study, Verdict] | None = None
        self._block_said = 0
        self._next_s = 0.0

    def say(self, text: str) -> None:
        """Print a line that stays, wrapped between words where the terminal is too narrow for it."""
        if self._terminal and len(text) >= self.size.columns:
            text = textwrap.fill(text, self.size.columns - 1, subsequent_indent="    ", break_on_hyphens=False)
        super().say(text)

    def stage(self, text: str) -> None:
        """Show what is being prepared."""
        self._judged, self._progress = None, None
        if self._terminal:
            from rich.text import Text

            self._show([Text(f"  {text}")])
        elif text != self._last_stage:
            self.say(f"  {text}")
        self._last_stage = text

    def progress(self, progress: Progress) -> None:
        """Show how far the run is."""
        is_new = self._progress is None or progress.stage != self._progress.stage or progress.arm != self._progress.arm
        self._progress = progress
        if progress.stage in (WAITING, BESIDE) and progress.stage not in self._said:
            self._said.add(progress.stage)
            self.say(f"  {progress.stage}")
        if self._terminal and (is_new or time.monotonic() >= self._next_s):
            from pgclinic.report.live.view import progress_lines

            self._next_s = time.monotonic() + REFRESH_S
            self._show(progress_lines(progress, self.size.columns))

    def trial(self, record: TrialRecord) -> None:
        """Print a finished trial as a line if no view shows it, else its doubts alone."""
        if self._progress is not None and (not self._terminal or record.failure is not None):
            self.say("  " + trial_line(record, self._progress))
        elif self._terminal:
            for doubt in record.doubts:
                self._doubt(doubt, f" of block {record.spec.block}, {record.spec.arm}")

    def verdict(self, study: Study, verdict: Verdict) -> None:
        """Show what the blocks say so far; those that leave the plot and new doubts stay as lines above it."""
        if not self._terminal:
            return
        from pgclinic.report.sections.blocks.text import BLOCKS_SHOWN, block_line

        seen = verdict.headline
        before = [block for block in seen.blocks[:-BLOCKS_SHOWN] if block.block > self._block_said]
        if self._judged is not None:
            for block in before:
                self.say(f"  {block_line(study.questions[0], block)}")
        self._block_said = max((block.block for block in seen.blocks[:-BLOCKS_SHOWN]), default=0)
        self._judged = (study, verdict)
        self._next_s = 0.0
        for doubt in verdict.doubts:
            self._doubt(doubt)

    def _doubt(self, doubt: Doubt, where: str = "") -> None:
        """Print a doubt the first time that one of its kind arises."""
        if doubt.kind.value not in self._said:
            self._said.add(doubt.kind.value)
            self.say(f"  doubt{where}: {doubt_words(doubt).text}")

    def _show(self, head: Sequence[Text]) -> None:
        from pgclinic.report.live.view import Judged, live_view

        size = self.size
        judged = None
        if self._judged is not None:
            study, verdict = self._judged
            judged = Judged(study.questions[0], verdict.headline)
        self.draw(live_view(head, self.beside(size.columns), judged, columns=size.columns, rows=size.lines))
