"""Sessions that do nothing: each is a backend with its memory, its locks' slots and its place in every snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from pgclinic.errors import RunFailedError, ServerLostError
from pgclinic.load.open_files import allow_files
from pgclinic.pg.session import Access, Session

_FILES_BESIDE = 256
# Connecting is waiting for the server to fork: some at once are much quicker, many at once no more.
_AT_ONCE = 8
_BATCH = 200
# With less of the memory left the machine begins to swap, or to kill.
_SHARE_KEPT = 0.1
_TIMEOUT_MS = 5000
_TRIES = 3


@contextmanager
def idle_sessions(access: Access, count: int) -> Iterator[None]:
    """Hold ``count`` sessions open; each has run one statement, as an idle session of a pool has.

    Raises RunFailedError when one of them was lost meanwhile, or when the machine has no memory for so many;
    UsageError where so many files may not be open.
    """
    allow_files(count + _FILES_BESIDE, f"{count} idle sessions")
    sessions: list[Session] = []
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pgclinic-idle") as pool:
        try:
            while len(sessions) < count:
                _refuse_to_starve_the_machine(len(sessions), count)
                wanted = min(_BATCH, count - len(sessions))
                opening = [pool.submit(_open, access) for _ in range(wanted)]
                # All are collected before the first failure is raised, so that none stays open.
                sessions.extend(future.result() for future in opening if future.exception() is None)
                for one in opening:
                    one.result()
            yield
            lost = sum(not answers for answers in pool.map(Session.answers, sessions))
        finally:
            list(pool.map(Session.close, sessions))
    if lost:
        raise RunFailedError(f"{lost} of {count} idle sessions were lost during the trial")


def _open(access: Access) -> Session:
    """One session; a busy machine may need several tries."""
    for _ in range(_TRIES - 1):
        with suppress(ServerLostError):
            return _connected(access)
    return _connected(access)


def _connected(access: Access) -> Session:
    return Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-idle")


def _refuse_to_starve_the_machine(opened: int, count: int) -> None:
    try:
        text = Path("/proc/meminfo").read_text()
    except FileNotFoundError:
        # macOS swaps to a file that grows, and reports no such figure.
        return
    memory = {line.partition(":")[0]: line.split()[1] for line in text.splitlines()}
    left = int(memory["MemAvailable"]) / int(memory["MemTotal"])
    if left < _SHARE_KEPT:
        raise RunFailedError(
            f"{opened} of {count} idle sessions were open when {left * 100:.0f} % of the memory was left"
        )
