"""A running load: pgbench's progress lines, a line for a log, the live view of a terminal. Pure but for its memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.text import Text

from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.report.live.progress import clock, sparkline
from pgclinic.report.live.view import live_view, spark_line
from pgclinic.report.words.figures import number
from pgclinic.samples.latency import latency_of


def event_text(event: LoadEvent) -> str:
    """What a client or the server says, as pgbench and libpq print it: the server's remarks under no name."""
    lines = event.text.splitlines() or [""]
    match event.kind:
        case "error":
            return "\n".join(["pgclinic: error: " + lines[0], *lines[1:]])
        case "info":
            return "\n".join(["pgclinic: " + lines[0], *lines[1:]])
    return "\n".join(lines)


@dataclass(frozen=True)
class ProgressStyle:
    """What a -P line contains; pgbench decides it by the options, not by what happened."""

    interval_s: int
    epoch: bool = False
    throttled: bool = False
    skips: bool = False
    retries: bool = False


@dataclass
class ProgressLines:
    """Seconds in, a line after every ``interval_s`` of them. ``epoch_s`` is the clock for --progress-timestamp."""

    style: ProgressStyle
    _seconds: list[LoadProgress] = field(default_factory=list)

    def line(self, progress: LoadProgress, *, epoch_s: float) -> str | None:
        """The line that is due with this second, None while none is."""
        # pgbench has no line for what is left at the end.
        if progress.phase != "measure" or progress.span_s < 1.0:
            return None
        self._seconds.append(progress)
        if len(self._seconds) < self.style.interval_s:
            return None
        seconds, self._seconds = self._seconds, []
        return progress_line(seconds, self.style, epoch_s=epoch_s)


def progress_line(seconds: Sequence[LoadProgress], style: ProgressStyle, *, epoch_s: float) -> str:
    """These seconds as pgbench words them."""
    seen = latency_of(seconds)
    when = f"{epoch_s:.3f} s" if style.epoch else f"{seconds[-1].second + 1:.1f} s"
    line = f"progress: {when}, {seen.transactions / len(seconds):.1f} tps, lat {seen.mean_us / 1000:.3f} ms"
    line += f" stddev {seen.deviation_us / 1000:.3f}"
    line += f", {sum(second.failed for second in seconds)} failed"
    if style.throttled:
        line += f", lag {seen.lag_us / 1000:.3f} ms"
        if style.skips:
            line += f", {sum(second.skipped for second in seconds)} skipped"
    if style.retries:
        line += f", {sum(second.retried for second in seconds)} retried"
        line += f", {sum(second.retries for second in seconds)} retries"
    return line


@dataclass
class FillFigures:
    """How far a fill is, and how long it will still take by the speed so far. ``now_s`` is any steady clock."""

    began_s: float
    every_s: float = 0.0
    _told_s: float = -math.inf

    def line(self, what: str, done: float, total: float, *, now_s: float) -> str | None:
        """The line that is due, None when the last one is younger than ``every_s``; the end is always reported."""
        share = min(1.0, done / total) if total > 0 else 1.0
        if share < 1.0 and now_s - self._told_s < self.every_s:
            return None
        self._told_s = now_s
        elapsed_s = now_s - self.began_s
        # The first blocks say nothing about the speed yet.
        known = 0.02 <= share < 1.0 and elapsed_s >= 1.0
        left = f"   {clock(elapsed_s * (1 - share) / share)} left" if known else ""
        return f"  {100 * share:3.0f} %{left}   {what}".rstrip()


@dataclass
class LiveFigures:
    """What is shown of a running load, kept second by second. ``measure_s`` is None where transactions end the run."""

    measure_s: float | None
    title: str = ""
    _seconds: list[LoadProgress] = field(default_factory=list)
    _failed: int = 0

    def restart(self, title: str) -> None:
        """Another load begins."""
        self.title, self._seconds, self._failed = title, [], 0

    def line(self, progress: LoadProgress) -> str:
        """The load in one line, for a log."""
        parts = self._stage(progress)
        if parts is None:
            self._take(progress)
            parts = [sparkline([second.tps for second in self._seconds]), f"{number(progress.tps)} TPS"]
            p50, p99 = (number(us / 1000) for us in (progress.latency_us_p50, progress.latency_us_p99))
            parts += [f"p50 {p50}   p99 {p99} ms", *self._counts(progress)]
        return "  " + "   ".join(self._titled(parts))

    def view(self, progress: LoadProgress, columns: int) -> Text:
        """The load in a few lines: its counts and time left, then TPS and latencies as sparklines."""
        parts = self._stage(progress)
        if parts is None:
            self._take(progress)
            parts = self._counts(progress)
        lines = [Text("  " + "   ".join(self._titled(parts)))]
        if self._seconds:
            last = self._seconds[-1]
            lines.append(spark_line("TPS", [second.tps for second in self._seconds], number(last.tps), columns))
            for name, of in (("p50", "latency_us_p50"), ("p99", "latency_us_p99")):
                values = [getattr(second, of) / 1000 for second in self._seconds]
                lines.append(spark_line(name, values, f"{number(values[-1])} ms", columns))
        return live_view(lines, (), None, columns=columns, rows=len(lines) + 1)

    def _titled(self, parts: Sequence[str]) -> list[str]:
        return [self.title, *parts] if self.title else [*parts]

    def _stage(self, progress: LoadProgress) -> list[str] | None:
        """What is done beside measuring; None while seconds are measured."""
        match progress.phase:
            case "connect":
                return [f"connecting   {progress.clients_connected:,} of {progress.clients:,}"]
            case "drain":
                return ["ending"]
            case "warm_up":
                return ["warming up", f"{number(progress.tps)} TPS"]
            case "measure" if self.measure_s is not None and progress.second >= self.measure_s:
                return ["waiting for running transactions   Ctrl-C cancels them"]
        return None

    def _take(self, progress: LoadProgress) -> None:
        self._seconds.append(progress)
        self._failed += progress.failed

    def _counts(self, progress: LoadProgress) -> list[str]:
        parts = [f"{self._failed:,} failed"]
        if not progress.transactions and progress.statements:
            # Minutes may pass between two commits of a server that still works.
            parts.append(f"{progress.statements:,} statements/s")
        if progress.skipped:
            parts.append(f"{progress.skipped:,} skipped")
        if self.measure_s is not None:
            parts.append(f"{clock(self.measure_s - progress.second - 1)} left")
        return parts
