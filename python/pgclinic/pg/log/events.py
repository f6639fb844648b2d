"""From entries to events: the beginning of a message says which family reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from pgclinic.model.log import (
    AnyLogEvent,
    CheckpointCompleted,
    CheckpointStarted,
    ErrorLogged,
    LogCounts,
    LogEntry,
    MemoryDump,
)
from pgclinic.pg.log.checkpoints import checkpoint_completed, checkpoint_started, checkpoints_too_frequent
from pgclinic.pg.log.form import DULL, SEVERITIES
from pgclinic.pg.log.lifecycle import PHASES, STEPS, connection_logged, process_ended, server_phase
from pgclinic.pg.log.locks import DEADLOCK_SQLSTATE, deadlock, lock_wait
from pgclinic.pg.log.memory import MemoryDumps
from pgclinic.pg.log.statements import duration_logged, temporary_file
from pgclinic.pg.log.vacuums import analyze_logged, vacuum_logged

_READERS: tuple[tuple[str, Callable[[LogEntry], AnyLogEvent | None]], ...] = (
    ("duration: ", duration_logged),
    ("automatic analyze ", analyze_logged),
    ("automatic ", vacuum_logged),
    ("temporary file: ", temporary_file),
    ("process ", lock_wait),
    ("checkpoint starting", checkpoint_started),
    ("checkpoint complete", checkpoint_completed),
    ("checkpoints are ", checkpoints_too_frequent),
    ("restartpoint starting", checkpoint_started),
    ("restartpoint complete", checkpoint_completed),
    ("finished analyzing ", analyze_logged),
    ("finished ", vacuum_logged),
    *((words, connection_logged) for words, _ in STEPS),
    *((words, server_phase) for words, _ in PHASES),
)
_ALARMING = frozenset(("WARNING", "ERROR", "FATAL", "PANIC"))
_SUCCESS_CLASSES = ("00", "02")
# English messages that are known and are no event.
_ORDINARY = re.compile(
    DULL.decode() + "|vacuuming |analyzing |background worker |aborting any |logger |ending log |parameter |"
    r'could not |invalid |"|level: |Grand total|listening |database system |selected new timeline|recovery '
)
_RAISED = " at RAISE"


class EventCollector:
    """Turns entries, in their order, into events; it remembers what spans several entries."""

    def __init__(self) -> None:
        self.counts = LogCounts()
        self._dumps = MemoryDumps()
        self._started: CheckpointStarted | None = None
        self._interval_us: int | None = None

    def feed(self, entries: Iterable[LogEntry]) -> list[AnyLogEvent]:
        """The events of these entries."""
        events: list[AnyLogEvent] = []
        entries_seen = not_understood = undated = 0
        for entry in entries:
            found, understood = self._events_of(entry)
            events += found
            entries_seen += 1
            not_understood += not understood
            undated += entry.origin.at_us is None
        self._count(entries=entries_seen, events=len(events), not_understood=not_understood, undated=undated)
        return events

    def finish(self) -> list[MemoryDump]:
        """What stays unfinished when no more entries will come."""
        dumps = self._dumps.cut_off()
        self._count(events=len(dumps))
        return dumps

    def _count(self, **more: int) -> None:
        before = msgspec.structs.asdict(self.counts)
        self.counts = msgspec.structs.replace(
            self.counts, **{name: before[name] + number for name, number in more.items()}
        )

    def _events_of(self, entry: LogEntry) -> tuple[list[AnyLogEvent], bool]:
        """The events of one entry, and whether its message is one of those known here."""
        if _alarming(entry):
            return _errors(entry), entry.severity in SEVERITIES
        # What a function says by RAISE LOG is not the server's own word, whatever it looks like.
        if entry.context is not None and entry.context.endswith(_RAISED):
            return [], True
        belongs, dump = self._dumps.feed(entry)
        if belongs:
            return [dump] if dump else [], True
        event = _read(entry)
        if event is None:
            return [], _ORDINARY.match(entry.message) is not None
        return [self._in_sequence(event)], True

    def _in_sequence(self, event: AnyLogEvent) -> AnyLogEvent:
        """A checkpoint's end repeats why it began, and how long after the one before."""
        if isinstance(event, CheckpointStarted):
            before, now = self._started.origin.at_us if self._started else None, event.origin.at_us
            self._interval_us = now - before if now is not None and before is not None else None
            self._started = event
        elif isinstance(event, CheckpointCompleted) and self._started is not None:
            return msgspec.structs.replace(event, reasons=self._started.reasons, interval_us=self._interval_us)
        return event


def _read(entry: LogEntry) -> AnyLogEvent | None:
    for words, reader in _READERS:
        if entry.message.startswith(words):
            return _tried(reader, entry)
    return _tried(process_ended, entry) if "(PID " in entry.message else None


def _tried(reader: Callable[[LogEntry], AnyLogEvent | None], entry: LogEntry) -> AnyLogEvent | None:
    """None for a number that no server writes."""
    try:
        return reader(entry)
    except (ValueError, OverflowError):
        return None


def _alarming(entry: LogEntry) -> bool:
    """A warning or worse. In another language the SQLSTATE still tells."""
    if entry.severity in SEVERITIES:
        return entry.severity in _ALARMING
    return entry.sqlstate is not None and not entry.sqlstate.startswith(_SUCCESS_CLASSES)


def _errors(entry: LogEntry) -> list[AnyLogEvent]:
    error = ErrorLogged(
        origin=entry.origin,
        severity=entry.severity,
        sqlstate=entry.sqlstate,
        message=entry.message,
        statement=entry.statement,
    )
    is_deadlock = entry.sqlstate == DEADLOCK_SQLSTATE or (
        entry.sqlstate is None and entry.message == "deadlock detected"
    )
    return [error, deadlock(entry)] if is_deadlock else [error]
