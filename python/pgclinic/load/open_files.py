"""How many files and sockets this process may have open: raised as far as it may be, else refused."""

from __future__ import annotations

import resource
from pathlib import Path

from pgclinic.errors import UsageError

#: For files that are opened meanwhile: of the run, of sessions that observe, of requests to cancel.
_SPARE = 24
#: A thread of the engine has a ring or an epoll, and what wakes it.
_OF_THREAD = 3
#: Where the system does not say how many are open.
_OPEN_GUESS = 64


def allow_files(wanted: int, purpose: str, *, hint: str | None = None) -> None:
    """Let this process have ``wanted`` more files open than now. Raises UsageError where the limit is lower."""
    total = wanted + _open_now() + _SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= total:
        return
    if hard != resource.RLIM_INFINITY and hard < total:
        more = f"raise the limit (ulimit -n {total})"
        raise UsageError(
            f"{purpose} need {total} open files, and ulimit -n allows {hard}",
            hint=f"{more}, or {hint}" if hint is not None else more,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (total, hard))


def allow_clients(clients: int, threads: int) -> None:
    """Let the engine have its sockets. Raises UsageError, which says how many clients would fit."""
    needed = clients + threads * _OF_THREAD
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fitting = max(1, hard - _SPARE - threads * _OF_THREAD - _open_now())
    allow_files(needed, f"{clients} clients", hint=f"use fewer clients (-c {fitting})" if fitting > 1 else None)


def _open_now() -> int:
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        # Without /proc Linux does not say.
        return _OPEN_GUESS
