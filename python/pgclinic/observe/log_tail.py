"""The newest part of a server's log, wherever it can be read from here: its messages of one process.

For what a process was just asked to write, also where the log lies on another machine: then the server reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Protocol

from pgclinic.errors import RunFailedError
from pgclinic.model.log import LogSettings
from pgclinic.pg.log.follow import FormatName
from pgclinic.pg.log.follow import log_format as reader_of
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

#: At most this much is read at once; what one process was asked for comes long before.
_PART_BYTES_MAX = 8_000_000
_FORBIDDEN = "42501"


class LogDestination(str, Enum):
    """As log_destination calls them."""

    JSON = "jsonlog"
    CSV = "csvlog"
    STDERR = "stderr"


_READERS: dict[LogDestination, FormatName] = {
    LogDestination.JSON: "json",
    LogDestination.CSV: "csv",
    LogDestination.STDERR: "stderr",
}


class LogTail(Protocol):
    """A log from now on. ``prefix`` is the server's log_line_prefix."""

    format: LogDestination
    prefix: str

    def read(self) -> bytes:
        """Everything that was added since the tail was made. Raises RunFailedError."""


class _FileTail:
    """A file that this process can open."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.format = LogDestination.STDERR
        self.prefix = prefix
        self._path = path
        self._start = path.stat().st_size

    def read(self) -> bytes:
        with self._path.open("rb") as stream:
            stream.seek(self._start)
            return stream.read(_PART_BYTES_MAX)


class _ServerTail:
    """A file that the logging collector writes, read by the server itself: it may be another machine's."""

    def __init__(self, session: Session, major: int, log_format: LogDestination, prefix: str) -> None:
        self.format = log_format
        self.prefix = prefix
        self._session = session
        self._part = query("collected_log_part", major)
        self._file, self._start = session.row(query("collected_log", major), {"format": log_format.value})

    def read(self) -> bytes:
        values = {"file": self._file, "position": self._start, "length": _PART_BYTES_MAX}
        (part,) = self._session.row(self._part, values)
        return bytes(part)


def open_tail(access: Access, session: Session) -> LogTail:
    """The end of the server's log. Raises RunFailedError with the reason when it cannot be read from here."""
    collected, destination, prefix = session.row(query("log_destinations", access.major))
    written = [name.strip().lower() for name in destination.split(",")]
    formats = [each for each in LogDestination if each.value in written]
    if not formats:
        raise RunFailedError(
            f"the server logs to {destination}, which pgclinic cannot read",
            hint="add stderr to log_destination",
        )
    if collected:
        return _server_tail(access, session, formats, prefix)
    return _file_tail(access, session, prefix)


def _server_tail(access: Access, session: Session, formats: list[LogDestination], prefix: str) -> LogTail:
    try:
        # In this order: what says most about each line comes first.
        return _ServerTail(session, access.major, formats[0], prefix)
    except QueryError as error:
        if error.sqlstate != _FORBIDDEN:
            raise
        raise RunFailedError(
            f"this user may not read the server's log: {error.message.splitlines()[0]}",
            hint="connect as a superuser, or be granted pg_current_logfile, pg_stat_file and pg_read_binary_file",
        ) from error


def _file_tail(access: Access, session: Session, prefix: str) -> LogTail:
    """The file behind the server's standard error, when it is one and this process may open it."""
    path = Path(access.server.log_path or f"/proc/{session.backend_pid}/fd/2")
    try:
        if path.is_file():
            return _FileTail(path, prefix)
        reason = "the server writes its log to no file on this machine"
    except OSError as error:
        reason = f"the server's log cannot be opened: {error.strerror}"
    raise RunFailedError(reason, hint="set logging_collector = on, and pgclinic reads the log through the server")


def messages(content: bytes, log_format: LogDestination, *, pid: int, prefix: str) -> Iterator[str]:
    """What process ``pid`` wrote; pieces that are no entry of the log are passed over.

    In the plain format only a prefix with ``%p`` tells the processes apart; without it the entries of all count.
    """
    form = reader_of(_READERS[log_format], LogSettings(log_line_prefix=prefix))
    for start, end in form.telling(content):
        entry = form.entry(content[start:end])
        if entry is not None and entry.origin.pid in (pid, None):
            yield entry.message
