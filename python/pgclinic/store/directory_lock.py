"""Locks between processes, of existing directories, by flock: the kernel drops them when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Whoever asks whether a directory is in use holds it for less than a millisecond: that is no use.
_TRIES, _AGAIN_S = 4, 0.005


@contextmanager
def directory_lock(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
    """Lock an existing directory; yields False, without the lock, when it is taken and ``wait`` is False."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        held = _try(descriptor, kind)
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


def _try(descriptor: int, kind: int) -> bool:
    for left in reversed(range(_TRIES)):
        if try_lock(descriptor, kind):
            return True
        if left:
            time.sleep(_AGAIN_S)
    return False
