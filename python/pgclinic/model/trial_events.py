"""What the server's log told while one trial ran."""

from __future__ import annotations

from pgclinic.model.log import AnyLogEvent, LogCounts
from pgclinic.model.record import Record
from pgclinic.model.statement import LoggedTexts


class TrialEvent(Record):
    """``at_s`` is seconds since measuring began, negative in the warm-up; None where the log does not tell."""

    at_s: float | None
    event: AnyLogEvent


class TrialEvents(Record):
    """Events in the order in which they were logged, from before the warm-up to the end of the load.

    Checkpoints and vacuums stand here with their own moments and causes, where samples only tell that a counter has
    moved. Of a kind that floods the log every second, fourth, eighth one is kept, evenly over the trial; ``left_out``
    says how many of which kind are not here. ``unread_bytes`` is the rest of a log that was too long to be read in the
    time given to it. ``problem`` is why there is nothing at all.
    """

    kept: tuple[TrialEvent, ...] = ()
    left_out: dict[str, int] = {}
    counts: LogCounts = LogCounts()
    texts: LoggedTexts = LoggedTexts()
    unread_bytes: int = 0
    problem: str | None = None
