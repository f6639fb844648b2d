"""The log as comma-separated values: one record an entry, which may hold line breaks inside its quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgclinic.model.log import LogEntry, LogOrigin, LogSettings
from pgclinic.pg.log.form import DULL, Span, decoded, known_name
from pgclinic.pg.log.moments import moment_us

_FIELD = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^",\n]*+)'
# The server puts every message in quotes, and doubles those inside any text: a line inside a statement can look like a
# record up to its message, but then it has nothing but quotes.
_MESSAGE = rb'"(?!"*+,)[^"]*+(?:""[^"]*+)*+"'
# 23 fields until 12, then one more for backend_type (13), and two more for leader_pid and query_id (14).
_RECORD = re.compile(rb"(?:" + _FIELD + rb",){13}" + _MESSAGE + rb"(?:," + _FIELD + rb"){9,12}+\r?\n")
_BEGINS = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} [^\s,]+,")
# Only the message stands behind an SQLSTATE. A quote inside a text is doubled, so no text can look like this. A
# process id or a line number of five digits can, but what stands before it does not end in a capital. The pattern
# begins with two fixed characters, which the search can look for without trying the rest.
_TELLING = re.compile(rb',"(?<=[A-Z\x80-\xff],[0-9A-Z]{5},")(?!' + DULL + rb")")
_VALUE = re.compile(r'(?:\A|,)(?:"([^"]*+(?:""[^"]*+)*+)"|([^",\n]*+))')
_BACKEND_TYPE, _QUERY_ID = 23, 25


class CsvLog:
    """A log of log_destination csvlog."""

    def __init__(self, settings: LogSettings) -> None:
        self._zone = settings.log_timezone

    def spans(self, data: bytes) -> Iterator[Span]:
        position = 0
        while position < len(data):
            end = self._end(data, position)
            yield position, end
            position = end

    def telling(self, data: bytes) -> Iterator[Span]:
        passed = 0
        for found in _TELLING.finditer(data):
            if found.start() < passed:
                continue
            start = self._start(data, passed, found.start())
            end = self._end(data, start)
            passed = max(end, found.end())
            yield start, end

    def settled(self, data: bytes, *, quiet: bool) -> int:
        # A whole record cannot grow, so it does not matter whether more may come.
        del quiet
        position, cut = data.rfind(b"\n") + 1, 0
        while position > 0:
            position = data.rfind(b"\n", 0, position - 1) + 1
            if not _BEGINS.match(data, position):
                continue
            if record := _RECORD.match(data, position):
                return max(record.end(), cut)
            # A record that is not whole, or a line inside of one that looks like a beginning.
            cut = position
        return cut

    def entry(self, piece: bytes) -> LogEntry | None:
        if _RECORD.fullmatch(piece) is None or not _BEGINS.match(piece):
            return None
        fields = [quoted.replace('""', '"') or plain for quoted, plain in _VALUE.findall(decoded(piece))]
        try:
            return _entry(fields, self._zone)
        except ValueError:
            return None

    def _start(self, data: bytes, passed: int, position: int) -> int:
        """Where the record around ``position`` begins: line breaks inside it are passed."""
        first = start = data.rfind(b"\n", passed, position) + 1 or passed
        while not _BEGINS.match(data, start):
            if start <= passed:
                return first
            start = data.rfind(b"\n", passed, start - 1) + 1 or passed
        return start

    def _end(self, data: bytes, start: int) -> int:
        """Behind the record that begins at ``start``; behind the line when there is none."""
        record = _RECORD.match(data, start)
        return record.end() if record else data.find(b"\n", start) + 1 or len(data)


def _entry(fields: list[str], zone: str | None) -> LogEntry:
    """Raises ValueError when a number is none."""
    words = [field or None for field in fields] + [None] * 3
    origin = LogOrigin(
        at_us=moment_us(fields[0], zone),
        pid=_whole(words[3]),
        backend_type=words[_BACKEND_TYPE],
        application_name=known_name(words[22]),
        user=known_name(words[1]),
        database=known_name(words[2]),
        session_id=words[5],
        line_number=_whole(words[6]),
        query_id=_whole(words[_QUERY_ID]) or None,
    )
    return LogEntry(
        origin=origin,
        severity=fields[11],
        sqlstate=words[12],
        message=fields[13],
        detail=words[14],
        hint=words[15],
        context=words[18],
        statement=words[19],
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text else None
