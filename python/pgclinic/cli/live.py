"""The live line on stderr: one line that is rewritten on a terminal, elsewhere a plain line per trial."""

from __future__ import annotations

import shutil
from types import TracebackType
from typing import Self, TextIO

from pgclinic.model.progress import BESIDE, WAITING, Progress
from pgclinic.model.trial import TrialRecord
from pgclinic.report.progress import live_line, trial_line
from pgclinic.report.visible import write_own

CLEAR_LINE = "\r\x1b[2K"


class TerminalLine:
    """One line that is drawn repeatedly, and cleared before anything else is printed.

    Use it in a ``with``; whatever ends the block, the line is cleared and the cursor stands at its start.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn = False
        self._terminal = out.isatty()

    def draw(self, text: str) -> None:
        """Show the text in place of the drawn one."""
        write_own(self._out, CLEAR_LINE)
        self._out.write(text)
        self._out.flush()
        self._drawn = True

    def keep(self) -> None:
        """Keep the drawn line, and continue below it."""
        if self._drawn:
            self._out.write("\n")
            self._drawn = False

    def clear(self) -> None:
        """Remove the drawn line."""
        if self._drawn:
            write_own(self._out, CLEAR_LINE)
            self._out.flush()
            self._drawn = False

    def say(self, text: str) -> None:
        """Print a line that stays, in place of the drawn one."""
        self.clear()
        self._out.write(text + "\n")
        self._out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()


class LiveLine(TerminalLine):
    """What an experiment does: its preparation, the seconds of its trials, and their ends."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._last_stage = ""
        self._progress: Progress | None = None
        self._said: set[str] = set()

    def stage(self, text: str) -> None:
        """Show what is being prepared."""
        if self._terminal:
            self.draw(f"  {text}")
        elif text != self._last_stage:
            self.say(f"  {text}")
        self._last_stage = text

    def progress(self, progress: Progress) -> None:
        """Show how far the run is."""
        self._progress = progress
        if progress.stage in (WAITING, BESIDE) and progress.stage not in self._said:
            self._said.add(progress.stage)
            self.say(f"  {progress.stage}")
        if self._terminal:
            self.draw("  " + live_line(progress, width=shutil.get_terminal_size().columns - 3))

    def trial(self, record: TrialRecord) -> None:
        """Print a finished trial as a line if no live line shows it."""
        if self._progress is not None and (not self._terminal or record.failure is not None):
            self.say("  " + trial_line(record, self._progress))
