"""Lock waits and deadlocks."""

from __future__ import annotations

import re
from typing import Literal

from pgclinic.model.log import Deadlock, DeadlockProcess, LockWait, LogEntry
from pgclinic.pg.log.amounts import from_milliseconds, pids

Outcome = Literal["still waiting", "acquired", "failed", "deadlock", "deadlock avoided"]
_WAIT = re.compile(
    r"process (?P<pid>\d{1,10}) (?P<outcome>still waiting for|acquired|failed to acquire|avoided deadlock for|"
    r"detected deadlock while waiting for) (?P<mode>\S+) on (?P<target>.*?)(?: by rearranging queue order)? "
    r"after (?P<waited>\d{1,12}\.\d{1,6}) ms",
    re.DOTALL,
)
_OUTCOMES: dict[str, Outcome] = {
    "still waiting for": "still waiting",
    "acquired": "acquired",
    "failed to acquire": "failed",
    "avoided deadlock for": "deadlock avoided",
    "detected deadlock while waiting for": "deadlock",
}
_HOLDERS = re.compile(r"Process(?:es)? holding the lock: ([0-9, ]*)\. Wait queue: ([0-9, ]*)\.")
_WAITS = re.compile(r"^Process (\d{1,10}) waits for (\S+) on ([^\n]*); blocked by process (\d{1,10})\.$", re.MULTILINE)
_STATEMENT = re.compile(r"^Process (\d{1,10}): ", re.MULTILINE)
DEADLOCK_SQLSTATE = "40P01"


def lock_wait(entry: LogEntry) -> LockWait | None:
    """A wait that lasted longer than deadlock_timeout, and later how it ended."""
    match = _WAIT.match(entry.message)
    if match is None:
        return None
    holders = _HOLDERS.match(entry.detail or "")
    return LockWait(
        origin=entry.origin,
        outcome=_OUTCOMES[match["outcome"]],
        waiting_pid=int(match["pid"]),
        mode=match["mode"],
        target=match["target"],
        waited_us=from_milliseconds(match["waited"]),
        holders=pids(holders[1]) if holders else (),
        queue=pids(holders[2]) if holders else (),
        statement=entry.statement,
    )


def deadlock(entry: LogEntry) -> Deadlock:
    """Who waited for whom; the details are missing in a terse log."""
    detail = entry.detail or ""
    statements = _statements(detail)
    return Deadlock(
        origin=entry.origin,
        processes=tuple(
            DeadlockProcess(
                pid=int(found[1]),
                mode=found[2],
                target=found[3],
                blocked_by=int(found[4]),
                statement=statements.get(found[1]),
            )
            for found in _WAITS.finditer(detail)
        ),
        statement=entry.statement,
    )


def _statements(detail: str) -> dict[str, str]:
    """What each process was doing, by its id; a statement may have several lines."""
    found = list(_STATEMENT.finditer(detail))
    ends = [*(match.start() - 1 for match in found[1:]), len(detail)]
    return {match[1]: detail[match.end() : ends[number]] for number, match in enumerate(found)}
