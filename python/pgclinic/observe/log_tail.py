"""The newest part of a server's log, wherever it can be read from here: its messages of one process.

Enough for what a process was just asked to write; every format that PostgreSQL writes, of 14 and newer.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from pgclinic.errors import RunFailedError
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.pg.sql import query

#: At most this much is read at once; what one process was asked for comes long before.
_PART_BYTES_MAX = 8_000_000
_FORBIDDEN = "42501"
# The columns of csvlog that matter here.
_CSV_PID, _CSV_MESSAGE = 3, 13
_PREFIX_PID = re.compile(r"%(-?\d*)p")
# What may follow a literal in log_line_prefix.
_ESCAPE = re.compile(r"%-?\d*[a-zA-Z%]")
# The severity is in the language of the server; no language has digits in it, and a prefix may end in one.
_STDERR = re.compile(r"(?P<prefix>.*?)[^\s:\d]+: {1,2}(?P<message>(?:level: \d|Grand total: ).*)")


class LogFormat(str, Enum):
    """As log_destination calls them."""

    JSON = "jsonlog"
    CSV = "csvlog"
    STDERR = "stderr"


class LogTail(Protocol):
    """A log from now on. ``prefix`` is the server's log_line_prefix."""

    format: LogFormat
    prefix: str

    def read(self) -> bytes:
        """Everything that was added since the tail was made. Raises RunFailedError."""


class _FileTail:
    """A file that this process can open."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.format = LogFormat.STDERR
        self.prefix = prefix
        self._path = path
        self._start = path.stat().st_size

    def read(self) -> bytes:
        with self._path.open("rb") as stream:
            stream.seek(self._start)
            return stream.read(_PART_BYTES_MAX)


class _ServerTail:
    """A file that the logging collector writes, read by the server itself: it may be another machine's."""

    def __init__(self, session: Session, major: int, log_format: LogFormat, prefix: str) -> None:
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
    formats = [each for each in LogFormat if each.value in written]
    if not formats:
        raise RunFailedError(
            f"the server logs to {destination}, which pgclinic cannot read",
            hint="add stderr to log_destination",
        )
    if collected:
        return _server_tail(access, session, formats, prefix)
    return _file_tail(access, session, prefix)


def _server_tail(access: Access, session: Session, formats: list[LogFormat], prefix: str) -> LogTail:
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


def messages(content: bytes, log_format: LogFormat, *, pid: int, prefix: str) -> Iterator[str]:
    """What process ``pid`` wrote of a memory dump; lines that cannot be read are passed over.

    In the plain format only a prefix with ``%p`` tells the processes apart; without it all of them count.
    """
    read: Callable[[str], str | None]
    if log_format is LogFormat.STDERR:
        whose = _pid_in(prefix, pid)

        def read(line: str) -> str | None:
            return _stderr_message(line, whose)
    else:
        parse = _json_fields if log_format is LogFormat.JSON else _csv_fields

        def read(line: str) -> str | None:
            writer, message = parse(line)
            return message if writer == str(pid) else None

    # The last line may still be in the writing.
    complete = content[: content.rfind(b"\n") + 1].decode(errors="replace")
    for line in complete.split("\n"):
        message = read(line)
        if message is not None:
            yield message


def _stderr_message(line: str, whose: re.Pattern[str] | None) -> str | None:
    match = _STDERR.fullmatch(line)
    if match is None or (whose is not None and whose.search(match["prefix"]) is None):
        return None
    return match["message"]


def _pid_in(prefix: str, pid: int) -> re.Pattern[str] | None:
    """How this process's id stands in the lines of its log, with the literals around it; None when it does not."""
    place = _PREFIX_PID.search(prefix)
    if place is None:
        return None
    before = _ESCAPE.split(prefix[: place.start()])[-1]
    after = _ESCAPE.split(prefix[place.end() :])[0]
    return re.compile(rf"{re.escape(before)} *(?<!\d){pid}(?!\d) *{re.escape(after)}")


def _csv_fields(line: str) -> tuple[str | None, str | None]:
    try:
        row = next(csv.reader([line]), [])
    except csv.Error:
        return None, None
    return (row[_CSV_PID], row[_CSV_MESSAGE]) if len(row) > _CSV_MESSAGE else (None, None)


def _json_fields(line: str) -> tuple[str | None, str | None]:
    try:
        fields: Any = json.loads(line)
    # Deeply nested brackets end in the second one.
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(fields, dict):
        return None, None
    message = fields.get("message")
    return str(fields.get("pid")), message if isinstance(message, str) else None
