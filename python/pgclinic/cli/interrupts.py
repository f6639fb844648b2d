"""Signals that end a command: all are answered as Ctrl-C is, and the exit code says which one came."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Those that came, in their order.
_came: list[int] = []


def answer_signals() -> None:
    """A terminated or hung-up command cleans up as an interrupted one does. What nohup ignores stays ignored."""
    for number in _answered():
        signal.signal(number, _interrupt)


@contextmanager
def first_one_stops(stop: Callable[[], None]) -> Iterator[None]:
    """The first signal calls ``stop`` and the work goes on to its end; the second one ends the command."""
    before = {number: signal.getsignal(number) for number in _answered()}

    def first(number: int, frame: FrameType | None) -> None:
        _came.append(number)
        restore()
        stop()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, first)
    try:
        yield
    finally:
        restore()


def ignore_signals() -> None:
    """From here on the process only ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def code_of_signal(exit_code: int) -> int:
    """The exit code of an interrupted command: 128 and the number of the first signal, as shells have it."""
    return 128 + _came[0] if exit_code == INTERRUPTED and _came else exit_code


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _came.append(number)
    raise KeyboardInterrupt


def _answered() -> list[signal.Signals]:
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
