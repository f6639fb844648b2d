"""Measurements on this machine know of each other: those on lab servers take turns, and all hear of the others.

Two locks: ``trial`` is held by whatever measures a server of the lab, one at a time. ``measuring`` is shared by all
that measure, a bench of somebody's own server included: who cannot have it alone is not alone. Its file has one byte
for each measurement that started since it was last held alone, so that one that came and went meanwhile shows as well.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pgclinic.errors import MachineBusyError
from pgclinic.lab.home import folder
from pgclinic.lab.locks import named_lock


@contextmanager
def exclusive_measurement(
    on_wait: Callable[[], None], on_beside: Callable[[], None], until_s: float | None = None
) -> Iterator[None]:
    """Measure a server of the lab; ``on_wait`` is called once when another command does so now and has to end first.

    Raises MachineBusyError where it has not ended at ``until_s`` of the monotonic clock.
    """
    with named_lock("trial", on_wait=on_wait, until_s=until_s) as held:
        if not held:
            raise MachineBusyError(
                "another pgclinic measurement had this machine until the budget was spent",
                hint="wait for the other command, or give this one a larger --budget",
            )
        with measurement(on_beside):
            yield


@contextmanager
def measurement(on_beside: Callable[[], None]) -> Iterator[None]:
    """Measure beside whatever else does; ``on_beside`` is called once, at the start or at the end, if anything did."""
    descriptor = os.open(folder("locks") / "measuring.lock", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        alone = _is_alone(descriptor)
        if alone:
            os.ftruncate(descriptor, 0)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.write(descriptor, b".")
        started = os.fstat(descriptor).st_size
        if not alone:
            on_beside()
        yield
        if alone and (os.fstat(descriptor).st_size != started or not _is_alone(descriptor)):
            on_beside()
    finally:
        os.close(descriptor)


def is_measuring() -> bool:
    """Whether another command measures now."""
    path = folder("locks") / "measuring.lock"
    if not path.exists():
        return False
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return not _is_alone(descriptor)
    finally:
        os.close(descriptor)


def _is_alone(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
