"""What is marked in the charts of a trial: what the server counted, and what it logged."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bench import bench_trial
from pgclinic.model.log import ErrorLogged, LockWait, LogOrigin
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.report.parts.time_chart import Mark
from pgclinic.report.sections.server.marks import MARKS_MAX, event_words, marks_of, marks_thinned

RECORD = bench_trial()
ORIGIN = LogOrigin(at_us=0)


def error(message: str) -> ErrorLogged:
    return ErrorLogged(origin=ORIGIN, severity="ERROR", sqlstate="23505", message=message, statement=None)


def wait() -> LockWait:
    return LockWait(
        origin=ORIGIN,
        outcome="acquired",
        waiting_pid=2,
        mode="ShareLock",
        target="transaction 7",
        waited_us=1_200_000,
        holders=(1,),
        queue=(2,),
        statement=None,
    )


def logged(*events: TrialEvent) -> TrialRecord:
    return replace(RECORD, events=TrialEvents(kept=events))


def test_counted_events_are_marked_when_they_were_first_seen() -> None:
    marks = marks_of(logged(), -1.0, 20.0)
    assert [(mark.kind, mark.at_s, mark.count) for mark in marks] == [("checkpoint", 5.0, 1), ("autovacuum", 8.0, 3)]
    assert [words for _, words in event_words(marks)] == ["1 checkpoint", "3 autovacuums", "0 autoanalyzes"]


def test_events_of_the_warm_up_are_told_apart() -> None:
    early = tuple(replace(mark, at_s=-0.5) for mark in marks_of(logged(), -1.0, 20.0))
    assert event_words(early)[0] == ("checkpoint", "0 checkpoints (1 more before)")


def test_logged_events_have_their_own_time_and_words() -> None:
    trial = logged(
        TrialEvent(at_s=3.25, event=error("duplicate key")),
        TrialEvent(at_s=4.0, event=wait()),
        TrialEvent(at_s=None, event=error("without a time")),
        TrialEvent(at_s=21.0, event=error("after the end")),
    )
    marks = [mark for mark in marks_of(trial, -1.0, 20.0) if mark.words]
    assert [(mark.kind, mark.at_s) for mark in marks] == [("error", 3.25), ("lock wait", 4.0)]
    assert marks[0].words == "ERROR 23505 duplicate key"
    assert dict(event_words(marks))["error"] == "1 error"
    assert dict(event_words(marks))["lock wait"] == "1 lock wait"


def test_many_marks_become_few_and_none_is_lost() -> None:
    many = tuple(Mark(kind=kind, at_s=at / 10, count=1) for kind in ("error", "lock wait") for at in range(20_000))
    few = marks_thinned(many)
    assert len(few) <= MARKS_MAX + 2
    assert sum(mark.count for mark in few) == len(many)
    assert marks_thinned(many[:100]) == many[:100]
