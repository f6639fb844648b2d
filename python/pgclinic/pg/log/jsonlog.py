"""The log as JSON (15 and later): one object a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from pgclinic.model.decoding import decoder_of
from pgclinic.model.log import LogEntry, LogOrigin, LogSettings
from pgclinic.pg.log.form import DULL, Span, decoded, known_name
from pgclinic.pg.log.moments import moment_us

# Quotes inside a text are escaped, so no text can look like this.
_TELLING = re.compile(rb'"message":"(?!' + DULL + rb")")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class _Line(msgspec.Struct):
    """The keys that are read; the server leaves out those without a value."""

    timestamp: str
    error_severity: str
    message: str = ""
    pid: int | None = None
    user: str | None = None
    dbname: str | None = None
    session_id: str | None = None
    line_num: int | None = None
    state_code: str | None = None
    detail: str | None = None
    hint: str | None = None
    context: str | None = None
    statement: str | None = None
    application_name: str | None = None
    backend_type: str | None = None
    query_id: int | None = None


_DECODER = decoder_of(_Line)


class JsonLog:
    """A log of log_destination jsonlog."""

    def __init__(self, settings: LogSettings) -> None:
        self._zone = settings.log_timezone

    def spans(self, data: bytes) -> Iterator[Span]:
        for line in _LINE.finditer(data):
            yield line.span()

    def telling(self, data: bytes) -> Iterator[Span]:
        passed = 0
        for found in _TELLING.finditer(data):
            if found.start() < passed:
                continue
            start = data.rfind(b"\n", passed, found.start()) + 1 or passed
            passed = data.find(b"\n", found.end()) + 1 or len(data)
            yield start, passed

    def settled(self, data: bytes, *, quiet: bool) -> int:
        del quiet
        return data.rfind(b"\n") + 1

    def entry(self, piece: bytes) -> LogEntry | None:
        line = _decoded_line(piece)
        return None if line is None else _entry(line, self._zone)


def _decoded_line(piece: bytes) -> _Line | None:
    try:
        return _DECODER.decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # Bytes that are no UTF-8: a database of another encoding wrote the line.
        return _DECODER.decode(decoded(piece))
    except (msgspec.DecodeError, RecursionError):
        return None


def _entry(line: _Line, zone: str | None) -> LogEntry:
    origin = LogOrigin(
        at_us=moment_us(line.timestamp, zone),
        pid=line.pid,
        backend_type=line.backend_type or None,
        application_name=known_name(line.application_name),
        user=known_name(line.user),
        database=known_name(line.dbname),
        session_id=line.session_id or None,
        line_number=line.line_num,
        query_id=line.query_id or None,
    )
    return LogEntry(
        origin=origin,
        severity=line.error_severity,
        # The server leaves out the code of success.
        sqlstate=line.state_code or "00000",
        message=line.message,
        detail=line.detail or None,
        hint=line.hint or None,
        context=line.context or None,
        statement=line.statement or None,
    )
