"""Events of a server's log as lines of text: what happened, and the figures that matter first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pgclinic.model.log import (
    AnalyzeLogged,
    AnyLogEvent,
    CheckpointCompleted,
    CheckpointStarted,
    CheckpointsTooFrequent,
    ConnectionLogged,
    Deadlock,
    ErrorLogged,
    LockWait,
    LogCounts,
    MemoryDump,
    PlanLogged,
    ProcessEnded,
    ResourceUse,
    ServerPhase,
    SlowStatement,
    TemporaryFile,
    VacuumLogged,
)

_TEXT_WIDTH = 100
_SIZES = (("GB", 1024**3), ("MB", 1024**2), ("kB", 1024))


def event_words(event: AnyLogEvent) -> str:
    """What happened, without when and by whom."""
    return _WORDS[type(event)](event)


def event_line(event: AnyLogEvent) -> str:
    """One line: when (UTC), which process, what."""
    at_us, pid = event.origin.at_us, event.origin.pid
    clock = "-" if at_us is None else f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3]
    return f"{clock:<23}  {'-' if pid is None else pid:>7}  {_WORDS[type(event)](event)}"


def counts_line(counts: LogCounts) -> str:
    """What was read, and what of it could not be used."""
    lost = [
        f"{number} {what}"
        for number, what in (
            (counts.not_understood, "not understood (is lc_messages English?)"),
            (counts.unparsed, "not entries (is log_line_prefix correct?)"),
            (counts.undated, "without a time"),
        )
        if number
    ]
    return f"{counts.events} events in {_size(counts.bytes_read)}" + "".join(f", {words}" for words in lost)


def _lock_wait(event: LockWait) -> str:
    holders = f", held by {', '.join(map(str, event.holders))}" if event.holders else ""
    waited = f"lock {event.outcome}: {event.mode} on {event.target} after {_ms(event.waited_us)}"
    return f"{waited}{holders}{_of(event.statement)}"


def _deadlock(event: Deadlock) -> str:
    circle = ", ".join(f"{process.pid} waits for {process.blocked_by}" for process in event.processes)
    return f"deadlock: {circle or 'the log does not name the processes'}"


def _statement(event: SlowStatement) -> str:
    phase = "statement" if event.phase == "unknown" else event.phase
    return f"{_ms(event.duration_us)} {phase}{_of(event.text)}"


def _plan(event: PlanLogged) -> str:
    identified = f" of query {event.query_id}" if event.query_id else ""
    return f"{_ms(event.duration_us)} plan{identified}{_of(event.query_text)}"


def _memory(event: MemoryDump) -> str:
    size = f"{_size(event.total_bytes)}, {_size(event.used_bytes)} used" if event.complete else "incomplete"
    return f"memory of process {event.dumped_pid}: {size}, {len(event.contexts)} contexts"


def _error(event: ErrorLogged) -> str:
    state = f" {event.sqlstate}" if event.sqlstate else ""
    return f"{event.severity}{state} {_short(event.message)}{_of(event.statement)}"


def _ended(event: ProcessEnded) -> str:
    how = f"ended by signal {event.signal}" if event.signal is not None else f"exited with exit code {event.exit_code}"
    return f"{event.process} {event.ended_pid} {how}{_of(event.running)}"


def _connection(event: ConnectionLogged) -> str:
    after = "" if event.session_us is None else f" after {event.session_us / 1e6:.3f} s"
    return f"connection {event.step}{after}"


def _checkpoint_started(event: CheckpointStarted) -> str:
    return f"{_kind(event.restartpoint)} started{_why(event.reasons)}"


def _checkpoint_completed(event: CheckpointCompleted) -> str:
    after = "" if event.interval_us is None else f", {event.interval_us / 1e6:.1f} s after the previous one"
    return (
        f"{_kind(event.restartpoint)} complete{_why(event.reasons)}: {event.buffers_written} buffers "
        f"({event.buffers_share * 100:.1f} %) in {event.total_us / 1e6:.3f} s, "
        f"{_size(event.distance_bytes)} of WAL{after}"
    )


def _kind(restartpoint: bool) -> str:
    return "restartpoint" if restartpoint else "checkpoint"


def _why(reasons: tuple[str, ...]) -> str:
    return f" ({' '.join(reasons)})" if reasons else ""


def _vacuum(event: VacuumLogged) -> str:
    how = "automatic " if event.automatic else ""
    how += "aggressive " if event.aggressive else ""
    why = " to prevent wraparound" if event.to_prevent_wraparound else ""
    held = ""
    if event.tuples_dead_not_removable:
        age = f", cutoff {event.cutoff_age_xids} transactions old" if event.cutoff_age_xids is not None else ""
        held = f", {event.tuples_dead_not_removable} dead but not yet removable{age}"
    removed = "" if event.tuples_removed is None else f": {event.tuples_removed} tuples removed"
    return f"{how}vacuum{why} of {event.table}{removed}{held}{_cost(event.use)}"


def _analyze(event: AnalyzeLogged) -> str:
    return f"{'automatic ' if event.automatic else ''}analyze of {event.table}{_cost(event.use)}"


def _cost(use: ResourceUse) -> str:
    words = []
    if use.elapsed_us is not None:
        words.append(f"{use.elapsed_us / 1e6:.2f} s")
    if use.buffer_reads is not None:
        words.append(f"{use.buffer_reads} pages read")
    if use.wal_bytes is not None:
        words.append(f"{_size(use.wal_bytes)} of WAL")
    return f" ({', '.join(words)})" if words else ""


def _of(text: str | None) -> str:
    return f": {_short(text)}" if text else ""


def _short(text: str) -> str:
    """One line of bounded width, whatever the text holds."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 1] + "…"


def _ms(duration_us: int) -> str:
    return f"{duration_us / 1000:.3f} ms"


def _size(size_bytes: int) -> str:
    for unit, size in _SIZES:
        if size_bytes >= size:
            return f"{size_bytes / size:.1f} {unit}"
    return f"{size_bytes} bytes"


# One way of saying it for every kind of event; a test holds the table complete.
_WORDS: dict[type[AnyLogEvent], Callable[[Any], str]] = {
    CheckpointStarted: _checkpoint_started,
    CheckpointCompleted: _checkpoint_completed,
    CheckpointsTooFrequent: lambda event: f"checkpoints too frequent: {event.apart_s} s apart",
    VacuumLogged: _vacuum,
    AnalyzeLogged: _analyze,
    TemporaryFile: lambda event: f"temporary file of {_size(event.size_bytes)}{_of(event.statement)}",
    LockWait: _lock_wait,
    Deadlock: _deadlock,
    SlowStatement: _statement,
    PlanLogged: _plan,
    MemoryDump: _memory,
    ErrorLogged: _error,
    ProcessEnded: _ended,
    ServerPhase: lambda event: f"server: {_short(event.message)}",
    ConnectionLogged: _connection,
}
