"""Waits of a connection that end: by a limit in time, by a look whether the server still lives, and by memory.

The server's own statement_timeout ends a statement only while the server works. One that is stopped, cut off or no
PostgreSQL at all answers nothing, and the driver would wait for ever; one that sends rows without end fills the memory.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout

T = TypeVar("T")

#: Beyond the statement_timeout: the server has to notice it, and its error has to arrive.
GRACE_S = 10.0
#: After so long without a byte the server is asked on another connection whether it lives.
SILENCE_S = 15.0
#: By so much may the process grow during one wait. The largest results of our own queries take a few MB.
GROWTH_BYTES_MAX = 512 * 1024 * 1024
#: How long a new session may take to begin, and then to answer, when the server is asked whether it lives.
PROBE_S = 5
_LOOK_EVERY_S = 0.05
_STEP_S = 1.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose waits raise psycopg.OperationalError instead of lasting for ever; it is closed then.

    ``answer_within_s`` limits one wait: a statement with all its rows, or one block of a COPY. ``still_answers`` says
    whether the server answers elsewhere; it is asked when nothing came for ``silence_s``, so that a statement that
    rightly takes hours is waited for, and a dead server is not.
    """

    answer_within_s: float | None = None
    silence_s: float = SILENCE_S
    still_answers: Callable[[], bool] | None = None

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(self._watched(gen), interval=interval, timeout=timeout)
        except WaitEnded:
            self.close()
            raise

    def _watched(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """``gen``, which says what it waits for and is told what came: nothing, when only the interval has passed."""
        watch = _Watch(self)
        try:
            state = next(gen)
            while True:
                ready = yield state
                # What has come is read before anything is given up: we may have been stopped while it came.
                state = gen.send(ready)
                watch.step(heard=bool(ready))
        except StopIteration as end:
            result: T = end.value
            return result


class _Watch:
    """One wait. No step counts for more than _STEP_S, so that a pause of ours is not taken for the server's."""

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self._looked_s = time.monotonic()
        self._waited_s = self._silent_s = 0.0
        self._before_bytes: int | None = None

    def step(self, *, heard: bool) -> None:
        """Raises WaitEnded when the wait has become too long, too quiet or too expensive."""
        if heard:
            self._silent_s = 0.0
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_EVERY_S:
            return
        passed_s = min(now_s - self._looked_s, _STEP_S)
        self._looked_s = now_s
        self._waited_s += passed_s
        self._silent_s += passed_s
        self._refuse_growth()
        self._refuse_length()
        self._refuse_silence()

    def _refuse_growth(self) -> None:
        resident = resident_bytes()
        if self._before_bytes is None:
            self._before_bytes = resident
        if resident - self._before_bytes > GROWTH_BYTES_MAX:
            raise WaitEnded(f"the answer took more than {GROWTH_BYTES_MAX // 2**20} MB of memory and was given up")

    def _refuse_length(self) -> None:
        limit_s = self._connection.answer_within_s
        if limit_s is not None and self._waited_s > limit_s:
            raise WaitEnded(f"the server did not answer within {limit_s:g} s")

    def _refuse_silence(self) -> None:
        still_answers = self._connection.still_answers
        if still_answers is None or self._silent_s < self._connection.silence_s:
            return
        if not still_answers():
            raise WaitEnded("the server has stopped answering: neither this session nor a new one hears from it")
        self._silent_s = 0.0


class WaitEnded(psycopg.OperationalError):
    """A wait was given up on our side; the connection is closed."""


def open_bounded(dsn: str, keywords: Mapping[str, Any]) -> BoundedConnection:
    """An autocommit connection that asks the server whether it lives when it is silent. Raises psycopg.Error."""
    connection = BoundedConnection.connect(dsn, autocommit=True, **keywords)
    connection.still_answers = lambda: _answers(dsn, keywords)
    return connection


def _answers(dsn: str, keywords: Mapping[str, Any]) -> bool:
    """Whether a new session is answered. One that is refused is answered too: the server is full, or shutting down."""
    try:
        with contextlib.closing(
            BoundedConnection.connect(dsn, autocommit=True, **dict(keywords) | {"connect_timeout": PROBE_S})
        ) as probe:
            probe.answer_within_s = PROBE_S
            probe.execute("select")
    except (ConnectionTimeout, WaitEnded):
        return False
    except psycopg.Error:
        return True
    return True


def resident_bytes() -> int:
    """The memory that this process holds now; where the system does not report it (macOS) the most that it has held."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
