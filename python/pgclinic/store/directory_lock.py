"""Locks between processes, of existing directories, by flock: the kernel drops them when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Whoever only asks whether a directory is in use holds it for less than a millisecond, on a busy machine for more.
ASKED_S = 1.0
_AGAIN_S = 0.005


@contextmanager
def directory_lock(path: Path, *, shared: bool = False, wait: bool = True, patience_s: float = 0.0) -> Iterator[bool]:
    """Lock an existing directory; yields False, without the lock, when it is taken and ``wait`` is False.

    Without ``wait`` it is tried for ``patience_s``: ``ASKED_S`` where others may be asking whether it is in use.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        held = _try(descriptor, kind, 0.0 if wait else patience_s)
        if not held and wait:
            fcntl.flock(descriptor, kind)
            held = True
        yield held
    finally:
        os.close(descriptor)


def is_in_use(path: Path) -> bool:
    """Whether a command has the directory for itself now. Raises OSError: it is not there."""
    with directory_lock(path, shared=True, wait=False) as free:
        return not free


def try_lock(descriptor: int, kind: int) -> bool:
    """Whether an open file could be locked at once; ``kind`` is LOCK_EX or LOCK_SH."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try(descriptor: int, kind: int, patience_s: float) -> bool:
    end_s = time.monotonic() + patience_s
    while not try_lock(descriptor, kind):
        if time.monotonic() >= end_s:
            return False
        time.sleep(_AGAIN_S)
    return True
