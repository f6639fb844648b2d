"""The plain log: lines with a prefix; lines that belong to the one before begin with a tab."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgclinic.model.log import LogEntry, LogSettings
from pgclinic.pg.log.form import DULL, Span, decoded
from pgclinic.pg.log.prefix import LinePrefix

# Parts of the message before them, each on a line with a prefix of its own.
_PARTS = ("DETAIL", "HINT", "CONTEXT", "STATEMENT", "QUERY", "LOCATION", "BACKTRACE")
_NO_PART = b"".join(rb"(?<!%s:  )" % part.encode() for part in _PARTS)
# A dull message is matched with the rest of its line: what its text looks like does not matter.
_SEVERED = re.compile(rb":  " + _NO_PART + rb"(" + DULL + rb"[^\n]*+)?")
_PART = re.compile(rb"(?:" + "|".join(_PARTS).encode() + rb"):  ")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_POSITION = re.compile(r" at character [0-9]{1,10}\Z")
_VERBOSE = re.compile(r"([0-9A-Z]{5}): ")


class StderrLog:
    """A log of log_destination stderr (or syslog's text), written with one log_line_prefix."""

    def __init__(self, settings: LogSettings) -> None:
        self._prefix = LinePrefix(settings.log_line_prefix, settings.log_timezone)

    def spans(self, data: bytes) -> Iterator[Span]:
        start = 0
        for line in _LINE.finditer(data):
            if line.start() > start and self._begins(line[0]):
                yield start, line.start()
                start = line.start()
        if start < len(data):
            yield start, len(data)

    def telling(self, data: bytes) -> Iterator[Span]:
        passed = 0
        for found in _SEVERED.finditer(data):
            if found[1] is not None or found.start() < passed:
                continue
            start = data.rfind(b"\n", passed, found.start()) + 1 or passed
            stop = data.find(b"\n", start) + 1 or len(data)
            if not self._begins(data[start:stop]):
                # A later line of a message that was passed over as a whole.
                continue
            end = self._end(data, start)
            passed = end
            yield start, end

    def settled(self, data: bytes, *, quiet: bool) -> int:
        # A cut line may yet turn out to be a part of the entry before it, and a part may follow a whole line.
        end = data.rfind(b"\n") + 1
        if quiet:
            return end
        while end > 0:
            start = data.rfind(b"\n", 0, end - 1) + 1
            if self._begins(data[start:end]):
                return start
            end = start
        return 0

    def entry(self, piece: bytes) -> LogEntry | None:
        text = decoded(piece)
        header = self._prefix.match(text)
        if header is None or header["severity"] in _PARTS:
            return None
        message, parts = self._taken_apart(text, header.end())
        origin, sqlstate = self._prefix.origin(header)
        if "LOCATION" in parts and sqlstate is None and (verbose := _VERBOSE.match(message)):
            sqlstate = verbose[1]
        if "LOCATION" in parts:
            message = _VERBOSE.sub("", message, count=1)
        return LogEntry(
            origin=origin,
            severity=header["severity"],
            # The other formats have a field for it, and the position is of no use without the statement.
            message=_POSITION.sub("", message),
            sqlstate=sqlstate,
            detail=parts.get("DETAIL"),
            hint=parts.get("HINT"),
            context=parts.get("CONTEXT"),
            statement=parts.get("STATEMENT"),
        )

    def _taken_apart(self, text: str, start: int) -> tuple[str, dict[str, str]]:
        """The message, and its parts by name."""
        name, found = "", dict[str, list[str]]()
        lines = found.setdefault(name, [])
        for number, line in enumerate(text[start:].removesuffix("\n").split("\n")):
            if line.startswith("\t") or number == 0:
                lines.append(line.removesuffix("\r").removeprefix("\t") if number else line.removesuffix("\r"))
            elif (header := self._prefix.match(line)) and header["severity"] in _PARTS:
                lines = found.setdefault(header["severity"], [])
                lines.append(line[header.end() :])
            else:
                lines.append(line)
        joined = {part: "\n".join(words) for part, words in found.items()}
        return joined.pop(""), joined

    def _begins(self, line: bytes) -> bool:
        """Whether a line begins an entry, or is a stray one, which stands for itself."""
        if line.startswith(b"\t"):
            return False
        if not _PART.search(line):
            return True
        header = self._prefix.match(decoded(line))
        return header is None or header["severity"] not in _PARTS

    def _end(self, data: bytes, start: int) -> int:
        """Behind the last line of the entry that begins at ``start``."""
        end = start
        while end < len(data):
            end = data.find(b"\n", end) + 1 or len(data)
            stop = data.find(b"\n", end) + 1 or len(data)
            if self._begins(data[end:stop]):
                break
        return end
