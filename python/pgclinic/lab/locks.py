"""Locks between processes, by flock: the kernel drops them when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pgclinic.lab.home import folder
from pgclinic.store.directory_lock import try_lock

#: What lies elsewhere than in the folder of locks: homes may share their versions by a link, and then share these, too.
_BESIDE = {"version": "versions"}
#: How often a lock is tried that is not waited for without a limit.
_AGAIN_S = 0.1


def build_lock(
    kind: str, name: str, *, wait: bool = True, on_wait: Callable[[], None] | None = None
) -> AbstractContextManager[bool]:
    """Whoever makes a cluster, a template or a version holds it; what is half-built without it was given up."""
    return named_lock(f"{kind}-{name}", wait=wait, on_wait=on_wait, within=_BESIDE.get(kind, "locks"))


@contextmanager
def named_lock(
    name: str,
    *,
    wait: bool = True,
    until_s: float | None = None,
    on_wait: Callable[[], None] | None = None,
    within: str = "locks",
) -> Iterator[bool]:
    """Hold the lock called ``name``; yields False, without the lock, when it is taken and ``wait`` is False.

    It is waited for no longer than ``until_s`` of the monotonic clock. ``on_wait`` is called once when it has to wait;
    ``within`` is the folder of the lab's home that has its file.
    """
    descriptor = os.open(folder(within) / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        held = try_lock(descriptor, fcntl.LOCK_EX)
        if not held and wait:
            if on_wait is not None:
                on_wait()
            held = _wait(descriptor, until_s)
        yield held
    finally:
        os.close(descriptor)


def _wait(descriptor: int, until_s: float | None) -> bool:
    """Whether the lock was to be had until then: the kernel itself waits without a limit only."""
    if until_s is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    while time.monotonic() < until_s:
        if try_lock(descriptor, fcntl.LOCK_EX):
            return True
        time.sleep(_AGAIN_S)
    return False
