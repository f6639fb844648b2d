"""What the server logged during one load, but for statements and plans."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.log import PlanLogged, SlowStatement
from pgclinic.model.trial import TrialRecord
from pgclinic.report.parts.table import PageTable
from pgclinic.report.words.figures import count
from pgclinic.report.words.log_events import event_words

EVENTS_SHOWN = 100


@dataclass(frozen=True)
class LogView:
    """What the server logged, but for statements and plans; ``notes`` say what is not here and why."""

    table: PageTable | None
    notes: tuple[str, ...]


def log_view(trial: TrialRecord) -> LogView:
    """The events that are kept, oldest first, no more than a reader looks through."""
    events = trial.events
    if events.problem is not None:
        return LogView(None, (f"No events: {events.problem}.",))
    kept = [event for event in events.kept if not isinstance(event.event, PlanLogged | SlowStatement)]
    shown = kept[:EVENTS_SHOWN]
    rows = tuple(("-" if event.at_s is None else f"{event.at_s:.1f}", event_words(event.event)) for event in shown)
    notes = [f"{count(len(kept) - len(shown), 'more event')} are in the record."] if len(kept) > len(shown) else []
    notes += [f"Thinned out: {count(lost, kind)}." for kind, lost in events.left_out.items()]
    if not rows:
        return LogView(None, ("The server logged nothing but statements, if anything.", *notes))
    heads = ("Second", "Event")
    return LogView(PageTable("What the server logged, by seconds since measuring began", heads, rows), tuple(notes))
