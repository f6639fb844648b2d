"""Log files on disk: read from where one stopped, across rotation, renaming and truncation."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from pgclinic.model.log import AnyLogEvent, LogCounts, LogEntry, LogFilePosition, LogPosition, LogSettings
from pgclinic.pg.log.csvlog import CsvLog
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.form import LogFormat
from pgclinic.pg.log.jsonlog import JsonLog
from pgclinic.pg.log.stderr import StderrLog

FormatName = Literal["stderr", "csv", "json"]
_CHUNK_BYTES = 16 * 1024 * 1024
# A plain log's last entry may still get its DETAIL; after this long without a write it will not.
_QUIET_S = 0.3
_PACKED = (".gz", ".xz", ".bz2", ".zst", ".zip")


def log_format(name: FormatName, settings: LogSettings) -> LogFormat:
    """The reader of one format."""
    match name:
        case "csv":
            return CsvLog(settings)
        case "json":
            return JsonLog(settings)
        case "stderr":
            return StderrLog(settings)


@dataclass(frozen=True)
class LogReading:
    """What one look brought. ``unparsed`` are pieces that are no entry."""

    entries: list[LogEntry]
    position: LogPosition
    bytes_read: int
    unparsed: int


class LogReader:
    """A log file, or a folder of them in the order they were written.

    A folder may hold the same log in several formats; ``format_name`` chooses, None takes the one that tells most.
    """

    def __init__(self, path: Path, settings: LogSettings, *, format_name: FormatName | None = None) -> None:
        self._path = path
        self._settings = settings
        self._asked = format_name

    def size(self) -> int:
        """All bytes of the log's files, read or not."""
        name = self._asked or _format_of(self._path)
        return sum(status.st_size for _, status in _files(self._path, name, {}))

    def blocks(self, position: LogPosition, *, everything: bool = False, ended: bool = False) -> Iterator[LogReading]:
        """All that was written since ``position``, in blocks, so that a log of any size needs little memory.

        With ``everything`` also the entries that can be no event; ``ended`` says that nobody writes the log.
        """
        name = self._asked or _format_of(self._path)
        form = log_format(name, self._settings)
        known = {file.inode: file for file in position.files}
        files = list(_files(self._path, name, known))
        reached = {status.st_ino: _start(known.get(status.st_ino), path, status) for path, status in files}
        for number, (path, status) in enumerate(files):
            quiet = ended or number < len(files) - 1 or time.time() - status.st_mtime > _QUIET_S
            try:
                stream = path.open("rb")
            except OSError:
                # It was rotated away or belongs to somebody else; what was not read stays not read.
                continue
            with stream:
                for data in _pieces(stream, form, reached[status.st_ino].offset, quiet=quiet):
                    before = reached[status.st_ino]
                    reached[status.st_ino] = msgspec.structs.replace(before, offset=before.offset + len(data))
                    yield _reading(form, data, LogPosition(files=tuple(reached.values())), everything=everything)


class LogFollower:
    """The events of a log as they come: call ``poll`` again and again."""

    def __init__(self, path: Path, settings: LogSettings, *, format_name: FormatName | None = None) -> None:
        self._reader = LogReader(path, settings, format_name=format_name)
        self._collector = EventCollector()
        self._bytes_read = self._unparsed = 0
        self.position = LogPosition()

    def poll(self) -> Iterator[AnyLogEvent]:
        """The events that were logged since the last call. The very last entry may wait for the next one."""
        yield from self._new_events(ended=False)

    def skip(self) -> None:
        """Begin at the end of what stands in the log now."""
        for reading in self._reader.blocks(self.position):
            self.position = reading.position

    def finish(self) -> Iterator[AnyLogEvent]:
        """The last events of a log that nobody writes any more."""
        yield from self._new_events(ended=True)
        yield from self._collector.finish()

    def unread_bytes(self) -> int:
        """How much of the log stands behind what was read of it."""
        return self._reader.size() - sum(file.offset for file in self.position.files)

    def _new_events(self, *, ended: bool) -> Iterator[AnyLogEvent]:
        for reading in self._reader.blocks(self.position, ended=ended):
            self.position = reading.position
            self._bytes_read += reading.bytes_read
            self._unparsed += reading.unparsed
            yield from self._collector.feed(reading.entries)

    @property
    def counts(self) -> LogCounts:
        """What was met so far, and what of it was not understood."""
        return msgspec.structs.replace(self._collector.counts, bytes_read=self._bytes_read, unparsed=self._unparsed)


def _reading(form: LogFormat, data: bytes, position: LogPosition, *, everything: bool) -> LogReading:
    spans = form.spans(data) if everything else form.telling(data)
    read = [form.entry(data[start:end]) for start, end in spans]
    entries = [entry for entry in read if entry is not None]
    return LogReading(entries=entries, position=position, bytes_read=len(data), unparsed=len(read) - len(entries))


def _pieces(stream: BinaryIO, form: LogFormat, offset: int, *, quiet: bool) -> Iterator[bytes]:
    """Blocks of whole entries from ``offset`` to the end; a block grows until it holds one."""
    size = _CHUNK_BYTES
    while True:
        stream.seek(offset)
        data = stream.read(size)
        at_end = len(data) < size
        cut = form.settled(data, quiet=quiet and at_end)
        if cut:
            yield data[:cut]
            offset += cut
            size = _CHUNK_BYTES
        elif not at_end:
            size *= 2
        if at_end:
            return


def _files(path: Path, name: FormatName, known: dict[int, LogFilePosition]) -> Iterator[tuple[Path, os.stat_result]]:
    """The files of the log, the oldest first. One that is followed by name is followed under its new name too."""
    if path.is_dir():
        candidates = [entry for entry in path.iterdir() if _is_format(entry, name)]
    else:
        renamed = [entry for entry in path.parent.glob(f"{path.name}[.-]*") if not entry.name.endswith(_PACKED)]
        candidates = [entry for entry in renamed if _inode(entry) in known] + [path]
    found = []
    for entry in candidates:
        try:
            status = entry.stat()
        except OSError:
            continue
        found.append((entry, status))
    yield from sorted(found, key=lambda file: (file[1].st_mtime_ns, file[0].name))


def _start(known: LogFilePosition | None, path: Path, status: os.stat_result) -> LogFilePosition:
    """Where to read on; at the beginning again when the file was emptied."""
    offset = known.offset if known is not None and known.offset <= status.st_size else 0
    return LogFilePosition(name=path.name, inode=status.st_ino, offset=offset)


def _format_of(path: Path) -> FormatName:
    """By the suffix, as the server chooses it; of a folder the format that tells most."""
    suffixes = {entry.suffix for entry in path.iterdir()} if path.is_dir() else {path.suffix}
    if ".json" in suffixes:
        return "json"
    return "csv" if ".csv" in suffixes else "stderr"


def _is_format(path: Path, name: FormatName) -> bool:
    if path.name.startswith(".") or path.name.endswith(_PACKED) or not path.is_file():
        return False
    return {".json": "json", ".csv": "csv"}.get(path.suffix, "stderr") == name


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None
