"""What the three formats of a log have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pgclinic.model.log import LogEntry

# A server that logs every statement writes little else. These beginnings of a message are no event, and a negative
# lookahead passes them at more than a gigabyte a second, where a search for the many events reaches a tenth of that.
DULL = (
    rb"(?:00000: )?(?:statement: |execute [^\n:]{1,130}: |fastpath function call: |[Pp]arameters: |could not receive "
    rb"data from client|unexpected EOF on client|incomplete startup packet|listening on )"
)
_DEBUG = ("DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5")
SEVERITIES = frozenset((*_DEBUG, "LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC"))

Span = tuple[int, int]


class LogFormat(Protocol):
    """One way to write a log. Every method takes any bytes and raises nothing."""

    def spans(self, data: bytes) -> Iterator[Span]:
        """Pieces of ``data`` that tile it: one an entry, or what stands where an entry should."""

    def telling(self, data: bytes) -> Iterator[Span]:
        """The pieces alone that may be an event: the others are passed without a look."""

    def settled(self, data: bytes, *, quiet: bool) -> int:
        """How much of ``data`` is whole, whatever comes later; ``quiet`` says that nothing came for a while."""

    def entry(self, piece: bytes) -> LogEntry | None:
        """The entry that a piece is, None when it is none."""


def decoded(piece: bytes) -> str:
    """Log files have the encodings of their databases, mixed; what is no UTF-8 stays visible as a replacement."""
    return piece.decode("utf-8", errors="replace")


def known_name(name: str | None) -> str | None:
    """A session that has not said its name yet is logged as [unknown]."""
    return None if not name or name == "[unknown]" else name
