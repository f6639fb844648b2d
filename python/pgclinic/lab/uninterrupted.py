"""Work that a signal must not cut in two: an interrupt that comes meanwhile is answered when the work is done."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back SIGINT, SIGTERM and SIGHUP until the end of the ``with``; the first that came is then raised again.

    Python answers signals in its main thread alone, so in any other thread there is nothing to hold back. A signal that
    is ignored, as under nohup or in a shell's background job, stays ignored and hides none that comes after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {}
    try:
        for number in _INTERRUPTS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            # A handler that was not set from Python reads as None and cannot be set again from here.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])


def remove_tree(path: Path) -> None:
    """Remove a directory with all that is in it, as far as that can be done."""
    with uninterrupted():
        shutil.rmtree(path, ignore_errors=True)
