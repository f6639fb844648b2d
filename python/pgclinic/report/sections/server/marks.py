"""What happened now and then during a trial: marked in all its charts, named where a reader points at its second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from pgclinic.model.log import CheckpointsTooFrequent, Deadlock, ErrorLogged, LockWait, ProcessEnded, TemporaryFile
from pgclinic.model.trial import TrialRecord
from pgclinic.report.parts.time_chart import Mark
from pgclinic.report.words.figures import count
from pgclinic.report.words.log_events import event_words as logged_words
from pgclinic.samples.deltas import Rate, happened

#: Counted by the server, and seen when a sample was taken.
EVENTS = (("checkpoint", Rate.CHECKPOINTS), ("autovacuum", Rate.VACUUMS), ("autoanalyze", Rate.ANALYZES))

#: Logged by the server with their own time.
_LOGGED = {
    "error": (ErrorLogged, ProcessEnded, Deadlock),
    "lock wait": (LockWait,),
    "temporary file": (TemporaryFile,),
    "log warning": (CheckpointsTooFrequent,),
}

#: Marks closer together than the width of a line are one.
MARKS_MAX = 400


def marks_of(trial: TrialRecord, begin_s: float, end_s: float) -> tuple[Mark, ...]:
    """Checkpoints and runs of autovacuum, each when it was first seen to have happened, then what the log has."""
    counted = (
        Mark(kind=kind, at_s=round(min(at_s, end_s), 3), count=round(amount))
        for kind, rate in EVENTS
        for at_s, amount in happened(trial.samples, rate, begin_s, end_s)
    )
    return (*counted, *_logged(trial, begin_s, end_s))


def _logged(trial: TrialRecord, begin_s: float, end_s: float) -> Iterator[Mark]:
    for kind, events in _LOGGED.items():
        for one in trial.events.kept:
            if isinstance(one.event, events) and one.at_s is not None and begin_s <= one.at_s <= end_s:
                yield Mark(kind=kind, at_s=round(one.at_s, 3), count=1, words=logged_words(one.event))


def marks_thinned(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Of many marks those of one kind in a stretch of time are one, with the words of the first."""
    if len(marks) <= MARKS_MAX:
        return tuple(marks)
    begin_s, end_s = min(mark.at_s for mark in marks), max(mark.at_s for mark in marks)
    kinds = {mark.kind for mark in marks}
    width_s = max(1e-3, (end_s - begin_s) * len(kinds) / MARKS_MAX)

    def stretch(mark: Mark) -> tuple[str, int]:
        return mark.kind, int((mark.at_s - begin_s) / width_s)

    groups = (list(own) for _, own in groupby(sorted(marks, key=stretch), key=stretch))
    return tuple(replace(own[0], count=sum(mark.count for mark in own)) for own in groups)


def event_words(marks: Sequence[Mark]) -> tuple[tuple[str, str], ...]:
    """Every kind with how often it was seen while measuring, and before; of what is logged only what was seen."""
    kinds = [kind for kind, _ in EVENTS] + [kind for kind in _LOGGED if any(mark.kind == kind for mark in marks)]
    return tuple((kind, _words(kind, [mark for mark in marks if mark.kind == kind])) for kind in kinds)


def _words(kind: str, marks: Sequence[Mark]) -> str:
    inside = sum(mark.count for mark in marks if mark.at_s > 0)
    before = sum(mark.count for mark in marks if mark.at_s <= 0)
    return count(inside, kind) + (f" ({before:,} more before)" if before else "")
