"""What a running ``pgclinic bench`` shows on stderr: a live view on a terminal, plain lines elsewhere, -P's lines."""

from __future__ import annotations

import time
from typing import TextIO

from pgclinic.bench.find_rate import SearchLength
from pgclinic.bench.request import BenchRequest
from pgclinic.cli.live import REFRESH_S, TerminalView
from pgclinic.model.bench import RateTrial
from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.report.live.load import FillFigures, LiveFigures, ProgressLines, ProgressStyle, event_text
from pgclinic.report.sections.load.figures import rate_trial_line, search_length_words

#: Where no live view can be shown, a plain line at this interval.
PLAIN_EVERY_S = 10
PLAIN_FILL_EVERY_S = 5.0


class BenchLive(TerminalView):
    """What a bench does: what it prepares and fills, the seconds of its load, and what a search finds."""

    def __init__(self, out: TextIO, request: BenchRequest | None = None, *, plain: bool = False) -> None:
        super().__init__(out, plain=plain)
        duration_s = None if request is None or request.duration_s is None else float(request.duration_s)
        self._figures = LiveFigures(measure_s=duration_s)
        self._target = request.find_rate if request is not None else None
        self._fill: FillFigures | None = None
        self._lines = None if request is None or not request.progress_s else ProgressLines(_style(request))

    def stage(self, text: str) -> None:
        """Show what is being prepared."""
        if self._terminal:
            self.draw(f"  {text}")
        else:
            self.say(f"  {text}")

    def filled(self, text: str) -> None:
        """Show how far a fill is; the last such line stays."""
        if self._terminal:
            self.draw(text)
            if "(100%)" in text:
                self.keep()
        else:
            self.say(text)

    def filling(self, what: str, done: float, total: float) -> None:
        """Show how far TPC-C's tables are."""
        now_s = time.monotonic()
        if self._fill is None:
            self._fill = FillFigures(began_s=now_s, every_s=REFRESH_S if self._terminal else PLAIN_FILL_EVERY_S)
        line = self._fill.line(what, done, total, now_s=now_s)
        if line is not None:
            self.stage(line.strip())

    def search(self, length: SearchLength) -> None:
        """Say that a search starts, and how long it takes."""
        if self._target is not None:
            self.say(f"  {search_length_words(length, self._target)}")

    def rate(self, trial: RateTrial) -> None:
        """Say what a load of a search has shown."""
        if self._target is not None:
            self.say(f"  {rate_trial_line(trial, self._target)}")

    def trial(self, text: str) -> None:
        """Say that the next load of a search starts."""
        self._figures.restart(text)
        if not self._terminal:
            self.say(f"  {text}")

    def progress(self, progress: LoadProgress) -> None:
        """Show a second of the load."""
        if self._lines is not None:
            line = self._lines.line(progress, epoch_s=time.time())
            if line is not None:
                self.say(line)
        elif self._terminal:
            self.draw(self._figures.view(progress, self.size.columns))
        else:
            line = self._figures.line(progress)
            if progress.phase == "measure" and (progress.second + 1) % PLAIN_EVERY_S == 0:
                self.say(line)

    def event(self, event: LoadEvent) -> None:
        """Say what a client or the server reports."""
        self.say(event_text(event))


def _style(request: BenchRequest) -> ProgressStyle:
    return ProgressStyle(
        interval_s=request.progress_s,
        epoch=request.progress_timestamp,
        throttled=request.rate_tps is not None,
        skips=request.latency_limit_ms is not None,
        retries=request.max_tries != 1,
    )
