"""A server's log as a checkup needs it: events of a file or a folder counted by kind, in bounded memory."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.model.log import (
    AnyLogEvent,
    CheckpointCompleted,
    CheckpointsTooFrequent,
    ConnectionLogged,
    Deadlock,
    ErrorLogged,
    LockWait,
    LogFilePosition,
    LogPosition,
    LogSettings,
    PlanLogged,
    ProcessEnded,
    ServerPhase,
    SlowStatement,
    TemporaryFile,
    VacuumLogged,
)
from pgclinic.model.query_plan import PlanNode, PlanSource, QueryPlan
from pgclinic.model.server_log import LoggedMessage, LoggedSpill, LoggedVacuum, ServerLog
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.follow import FormatName, LogReader, log_format
from pgclinic.pg.log.form import LogFormat
from pgclinic.pg.query_plan import nodes_of_json_text, nodes_of_text
from pgclinic.sql.fingerprint import without_constants

#: Of a larger log its end is read: some hours of a busy server, in a second or two.
READ_BYTES_MAX = 64 * 1024**2
#: At either end of what is read, for the time that it covers.
_EDGE_BYTES = 64 * 1024
_PACKED = frozenset({".gz", ".xz", ".bz2", ".zst", ".zip"})
_FORMATS: dict[str, FormatName] = {".json": "json", ".csv": "csv"}
#: What is kept apart by text; all beyond these counts under an empty text.
_TEXTS_MAX = 2_000
_MESSAGES_KEPT, _SPILLS_KEPT, _CRASHES_KEPT, _PLANS_KEPT = 50, 10, 5, 200
#: Of a statement's text; what was cut off is told apart by its query id.
_STATEMENT_MAX = 10_000
_TOO_MANY_CONNECTIONS = "53300"
_REFUSALS = ("sorry, too many clients", "remaining connection slots are reserved", "too many connections for ")
_OUT_OF_MEMORY = "53200"
#: It has the same SQLSTATE, and is of the lock table.
_OTHER_MEMORY = "out of shared memory"
_NAME, _NUMBER = re.compile(r'"[^"]*"'), re.compile(r"\d+")


def read_server_log(path: Path, settings: LogSettings, *, bytes_max: int = READ_BYTES_MAX) -> ServerLog:
    """The log at ``path``, a file or a folder, in any of the server's formats; the last ``bytes_max`` of a larger one.

    ``settings`` are the server's log_line_prefix and log_timezone. Raises UsageError when it cannot be read.
    """
    name = _format_of(path)
    parts = _parts(path, name, bytes_max)
    start = LogPosition(
        files=tuple(
            LogFilePosition(
                name=part.path.name, inode=part.inode, offset=part.size if part.start is None else part.start
            )
            for part in parts
        )
    )
    reader = LogReader(path, settings, format_name=name)
    collector, log = EventCollector(), _EventCounts()
    bytes_read = unparsed = 0
    for block in reader.blocks(start, ended=True):
        bytes_read += block.bytes_read
        unparsed += block.unparsed
        log.add(collector.feed(block.entries))
    counts = collector.counts
    return replace(
        log.summary(path),
        bytes_read=bytes_read,
        bytes_all=sum(part.size for part in parts),
        entries=counts.entries,
        not_understood=counts.not_understood + unparsed,
        seconds=_seconds(parts, log_format(name, settings)),
    )


@dataclass(frozen=True)
class _Part:
    """A file, and where to begin in it; None for one that is too old to be read."""

    path: Path
    inode: int
    size: int
    start: int | None


def _format_of(path: Path) -> FormatName:
    """By the suffix; of a folder the format that says most, as the same log may be there in several."""
    try:
        suffixes = {one.suffix for one in path.iterdir()} if path.is_dir() else {path.suffix}
    except OSError as error:
        raise UsageError(f"cannot read the log {path}: {error.strerror}") from error
    if ".json" in suffixes:
        return "json"
    return "csv" if ".csv" in suffixes else "stderr"


def _parts(path: Path, name: FormatName, bytes_max: int) -> list[_Part]:
    """The files of the log, the newest first, each from where its newest bytes fit into what the others left."""
    try:
        files = [one for one in path.iterdir() if _is_log(one, name)] if path.is_dir() else [path]
        found = [(file, file.stat()) for file in files if file.is_file()]
    except OSError as error:
        raise UsageError(f"cannot read the log {path}: {error.strerror}") from error
    readable = [(one, status) for one, status in found if os.access(one, os.R_OK)]
    if not readable:
        reason = "not readable by this user" if found else "there is no file"
        raise UsageError(f"cannot read the log {path}: {reason}", hint="name the file or the folder of the log")
    left, parts = bytes_max, []
    for one, status in sorted(readable, key=lambda pair: pair[1].st_mtime_ns, reverse=True):
        taken = min(left, status.st_size)
        offset = status.st_size - taken
        start = None if status.st_size and not taken else _line_start(one, offset) if offset else 0
        parts.append(_Part(path=one, inode=status.st_ino, size=status.st_size, start=start))
        left -= taken
    return parts


def _is_log(file: Path, name: FormatName) -> bool:
    """Of a folder; packed files are of long ago."""
    if file.name.startswith(".") or file.suffix in _PACKED:
        return False
    return _FORMATS.get(file.suffix, "stderr") == name


def _line_start(path: Path, offset: int) -> int:
    """The first line that begins at ``offset`` or behind it."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            stream.readline()
            return stream.tell()
    except OSError:
        return offset


def _seconds(parts: Sequence[_Part], form: LogFormat) -> float:
    """From the first entry that was read to the last, also of those that are no event."""
    read = [part for part in parts if part.start is not None and part.size > part.start]
    if not read:
        return 0.0
    oldest, newest = read[-1], read[0]
    first = _moments(oldest.path, oldest.start or 0, form)
    last = _moments(newest.path, max(newest.size - _EDGE_BYTES, newest.start or 0), form)
    return max(max(last) - min(first), 0) / 1e6 if first and last else 0.0


def _moments(path: Path, offset: int, form: LogFormat) -> list[int]:
    """When the entries of some kilobytes from ``offset`` on were written."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(_EDGE_BYTES)
    except OSError:
        return []
    entries = (form.entry(data[start:end]) for start, end in form.spans(data))
    return [entry.origin.at_us for entry in entries if entry is not None and entry.origin.at_us is not None]


@dataclass
class _Planned:
    """The logged plans of one statement."""

    slowest: PlanLogged
    times: int = 0
    total_us: int = 0

    def add(self, plan: PlanLogged) -> None:
        self.times += 1
        self.total_us += plan.duration_us
        if plan.duration_us > self.slowest.duration_us:
            self.slowest = plan


def _nodes(plan: PlanLogged) -> tuple[PlanNode, ...]:
    """None of XML and YAML, which nobody reads by machine where JSON is to be had."""
    if plan.plan_format == "json":
        return nodes_of_json_text(plan.plan)
    return nodes_of_text(plan.plan) if plan.plan_format == "text" else ()


class _EventCounts:
    """Events, counted as they come."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._longest_us: dict[str, int] = {}
        self._signals: Counter[str] = Counter()
        self._messages: Counter[tuple[str, str | None, str]] = Counter()
        self._spills: dict[str, tuple[int, int]] = {}
        self._vacuums: dict[str, LoggedVacuum] = {}
        self._plans: dict[tuple[int | None, str], _Planned] = {}
        self._crashed: list[str] = []
        self._recovers = False

    def add(self, events: Sequence[AnyLogEvent]) -> None:
        for event in events:
            self._add(event)

    def _add(self, event: AnyLogEvent) -> None:
        match event:
            case ErrorLogged():
                self._add_error(event)
            case SlowStatement():
                self._counts["slow_statements"] += 1
            case PlanLogged():
                self._add_plan(event)
            case TemporaryFile():
                self._add_file(event)
            case LockWait():
                self._counts["lock_waits"] += event.outcome == "still waiting"
                self._longest("lock_wait", event.waited_us)
            case Deadlock():
                self._counts["deadlocks"] += 1
            case CheckpointCompleted():
                self._add_checkpoint(event)
            case CheckpointsTooFrequent():
                self._counts["checkpoints_too_frequent"] += 1
            case ConnectionLogged() if event.step == "received":
                self._counts["connections"] += 1
            case VacuumLogged() if event.automatic:
                self._add_vacuum(event)
            case ProcessEnded():
                self._add_ended(event)
            case ServerPhase():
                self._add_phase(event)

    def _add_error(self, error: ErrorLogged) -> None:
        shape = _NUMBER.sub("N", _NAME.sub('"..."', error.message.partition("\n")[0]))[:200]
        key = (error.severity, error.sqlstate, shape)
        self._messages[key if key in self._messages or len(self._messages) < _TEXTS_MAX else ("", None, "")] += 1
        if error.sqlstate == _TOO_MANY_CONNECTIONS or error.message.startswith(_REFUSALS):
            self._counts["connections_refused"] += 1
        is_memory = error.sqlstate == _OUT_OF_MEMORY or error.message.startswith("out of memory")
        if is_memory and not error.message.startswith(_OTHER_MEMORY):
            self._counts["out_of_memory"] += 1

    def _add_file(self, file: TemporaryFile) -> None:
        self._counts["temporary_files"] += 1
        self._sums["temporary_bytes"] += file.size_bytes
        text = without_constants(file.statement or "")[:500]
        key = text if text in self._spills or len(self._spills) < _TEXTS_MAX else ""
        files, size = self._spills.get(key, (0, 0))
        self._spills[key] = (files + 1, size + file.size_bytes)

    def _add_plan(self, plan: PlanLogged) -> None:
        text = without_constants(plan.query_text or "")[:_STATEMENT_MAX]
        key = (plan.query_id, text)
        if key not in self._plans and len(self._plans) >= _TEXTS_MAX:
            return
        self._plans.setdefault(key, _Planned(slowest=plan)).add(plan)

    def _add_checkpoint(self, checkpoint: CheckpointCompleted) -> None:
        self._counts["checkpoints"] += 1
        self._counts["checkpoints_by_wal"] += "wal" in checkpoint.reasons
        self._longest("sync", checkpoint.sync_us)
        if checkpoint.interval_us is not None:
            self._counts["intervals"] += 1
            self._sums["intervals_us"] += checkpoint.interval_us

    def _add_vacuum(self, vacuum: VacuumLogged) -> None:
        before = self._vacuums.get(vacuum.table)
        self._vacuums[vacuum.table] = LoggedVacuum(
            table=vacuum.table,
            runs=(before.runs if before else 0) + 1,
            seconds=(before.seconds if before else 0.0) + (vacuum.use.elapsed_us or 0) / 1e6,
            removed=(before.removed if before else 0) + (vacuum.tuples_removed or 0),
            unremovable=vacuum.tuples_dead_not_removable or 0,
            index_scans_max=max(before.index_scans_max if before else 0, vacuum.index_scans),
            aggressive=(before.aggressive if before else 0) + vacuum.aggressive,
        )

    def _add_ended(self, ended: ProcessEnded) -> None:
        if ended.signal is None:
            return
        self._signals[_signal_name(ended.signal)] += 1
        if ended.running and len(self._crashed) < _CRASHES_KEPT:
            self._crashed.append(without_constants(ended.running)[:500])

    def _add_phase(self, phase: ServerPhase) -> None:
        """A crash is seen when a process takes all others with it, or else in the recovery after it."""
        if phase.phase == "ending all processes":
            self._counts["crashes"] += 1
            self._recovers = True
        elif phase.phase == "shutdown requested" and "immediate" in phase.message:
            # Somebody wanted it, and recovery comes after it as well.
            self._recovers = True
        elif phase.phase == "recovering":
            self._counts["crashes"] += not self._recovers
            self._recovers = False

    def _longest(self, what: str, duration_us: int) -> None:
        self._longest_us[what] = max(self._longest_us.get(what, 0), duration_us)

    def _longest_s(self, what: str) -> float | None:
        return self._longest_us[what] / 1e6 if what in self._longest_us else None

    def summary(self, path: Path) -> ServerLog:
        counts = self._counts
        spills = sorted(self._spills.items(), key=lambda one: one[1][1], reverse=True)[:_SPILLS_KEPT]
        return ServerLog(
            path=str(path),
            bytes_read=0,
            entries=0,
            not_understood=0,
            seconds=0.0,
            checkpoints=counts["checkpoints"],
            checkpoints_by_wal=counts["checkpoints_by_wal"],
            checkpoints_too_frequent=counts["checkpoints_too_frequent"],
            checkpoint_apart_s=self._sums["intervals_us"] / counts["intervals"] / 1e6 if counts["intervals"] else None,
            checkpoint_sync_s_max=self._longest_s("sync"),
            temporary_files=counts["temporary_files"],
            temporary_bytes=self._sums["temporary_bytes"],
            lock_waits=counts["lock_waits"],
            lock_wait_s_max=self._longest_s("lock_wait"),
            deadlocks=counts["deadlocks"],
            connections=counts["connections"],
            connections_refused=counts["connections_refused"],
            crashes=counts["crashes"],
            killed_by_signal=dict(self._signals),
            out_of_memory=counts["out_of_memory"],
            slow_statements=counts["slow_statements"],
            vacuums=tuple(sorted(self._vacuums.values(), key=lambda one: one.seconds, reverse=True)),
            messages=tuple(
                LoggedMessage(severity=severity, sqlstate=sqlstate, text=text, times=times)
                for (severity, sqlstate, text), times in self._messages.most_common(_MESSAGES_KEPT)
            ),
            spills=tuple(LoggedSpill(statement=text, files=files, bytes=size) for text, (files, size) in spills),
            crash_statements=tuple(self._crashed),
            plans=self._plans_seen(),
        )

    def _plans_seen(self) -> tuple[QueryPlan, ...]:
        most = sorted(self._plans.items(), key=lambda item: item[1].total_us, reverse=True)[:_PLANS_KEPT]
        made = (
            QueryPlan(
                source=PlanSource.LOG,
                nodes=_nodes(planned.slowest),
                query_id=query_id,
                statement=text or None,
                times=planned.times,
                duration_ms=planned.slowest.duration_us / 1000,
            )
            for (query_id, text), planned in most
        )
        return tuple(plan for plan in made if plan.nodes)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
