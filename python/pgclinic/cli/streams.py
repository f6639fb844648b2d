"""Standard streams that may be closed, full, or of an encoding that lacks our characters."""

from __future__ import annotations

import contextlib
import io
import os
import sys


class _Forgiving(io.TextIOWrapper):
    """A stderr whose reader may go away, and whose disk may fill: failures to write there are ignored."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().flush()


class StdoutError(OSError):
    """The output cannot be written: the disk is full, or the reader has gone."""


class _Stdout(io.TextIOWrapper):
    """A stdout whose failures have their own error class, because an OSError of a stream names no file."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise StdoutError(error.errno, error.strerror) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise StdoutError(error.errno, error.strerror) from error


def prepare_streams() -> None:
    """Open what the caller has closed, or the first file we open would be taken for a standard stream."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding, by_line = sys.stdout.encoding, sys.stdout.line_buffering
        sys.stdout = _Stdout(sys.stdout.detach(), encoding, "backslashreplace", line_buffering=by_line)
    if isinstance(sys.stderr, io.TextIOWrapper):
        encoding = sys.stderr.encoding
        sys.stderr = _Forgiving(sys.stderr.detach(), encoding, "backslashreplace", line_buffering=True)


def abandon_stdout() -> None:
    """Discard buffered output: it would be written once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
