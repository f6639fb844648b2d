"""Counters from what sessions did, and from what the log says of vacuums and memory."""

from __future__ import annotations

import pytest

from pgclinic.model.log import ContextLine, LogEntry, LogOrigin, MemoryDump
from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.model.study import Counter
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.pg.log.vacuums import vacuum_logged
from pgclinic.samples.activity_counters import activity_counters
from pgclinic.samples.logged_counters import logged_counters


def row(backends: int, *, wait: str | None = None, query_id: int | None = 1, state: str = "active") -> Row:
    return {
        "backend_type": "client backend",
        "state": state,
        "wait_event_type": wait,
        "query_id": query_id,
        "backends": backends,
    }


def activity(at_s: float, *rows: Row) -> Sample:
    return Sample(at_s=at_s, view="activity", rows=rows)


def horizon(at_s: float, *ages: int) -> Sample:
    return Sample(at_s=at_s, view="horizon", rows=tuple({"holder": "session", "age_xids": age} for age in ages))


def counters(*samples: Sample) -> dict[Counter, float]:
    return activity_counters(Samples(taken=samples), measured_s=10.0)


def test_the_share_of_active_backends_that_wait_for_a_lock() -> None:
    found = counters(
        activity(-1.0, row(9, wait="Lock")),
        activity(1.0, row(3, wait="Lock"), row(1), row(50, state="idle")),
        activity(2.0, row(1, wait="LWLock"), row(3)),
        activity(11.0, row(9, wait="Lock")),
    )
    assert found[Counter.LOCK_WAIT_SHARE] == pytest.approx(3 / 8)
    assert Counter.LOCK_WAIT_SHARE not in counters(activity(1.0, row(5, state="idle")))


def test_the_most_backends_on_one_query_id() -> None:
    found = counters(
        activity(1.0, row(20, wait="Lock", query_id=7), row(19, query_id=7), row(30, query_id=8)),
        activity(2.0, row(5, query_id=7), row(60, query_id=None)),
    )
    assert found[Counter.BACKENDS_ON_ONE_QUERY_ID] == 39
    assert Counter.BACKENDS_ON_ONE_QUERY_ID not in counters(activity(1.0, row(5, query_id=None)))


def test_the_age_of_the_horizon_is_that_of_the_last_sample_of_the_load() -> None:
    assert counters(horizon(1.0, 5000), horizon(9.0, 12, 40), horizon(12.0, 1))[Counter.HORIZON_AGE_XIDS] == 40
    assert counters(horizon(1.0, 5000), horizon(9.0))[Counter.HORIZON_AGE_XIDS] == 1
    assert Counter.HORIZON_AGE_XIDS not in counters(horizon(-1.0, 5000))


def dump(*used: int, total: int, complete: bool = True) -> MemoryDump:
    sizes = {"total_bytes": 0, "total_blocks": 0, "free_bytes": 0, "free_chunks": 0}
    lines = tuple(ContextLine(level=1, name="c", ident=None, more=None, used_bytes=one, **sizes) for one in used)
    return MemoryDump(origin=LogOrigin(), dumped_pid=1, contexts=lines, complete=complete, used_bytes=total, **sizes)


def events(*logged: object) -> TrialEvents:
    return TrialEvents(kept=tuple(TrialEvent(at_s=1.0, event=one) for one in logged))  # type: ignore[arg-type]


def test_the_share_of_logged_memory_that_was_read_back() -> None:
    assert logged_counters(events(dump(30, 70, total=100)))[Counter.LOGGED_MEMORY_READ_SHARE] == 1.0
    assert logged_counters(events(dump(30, total=100)))[Counter.LOGGED_MEMORY_READ_SHARE] == pytest.approx(0.3)
    assert logged_counters(events()) == {}


def vacuum(removed: int, kept: int, *, automatic: bool = True) -> object:
    how = "automatic vacuum of table" if automatic else "finished vacuuming"
    text = (
        f'{how} "a.b.c": index scans: 0\ntuples: {removed} removed, 7 remain, {kept} are dead but not yet removable\n'
    )
    return vacuum_logged(LogEntry(origin=LogOrigin(), severity="LOG", message=text))


def test_the_share_of_dead_rows_that_autovacuum_keeps() -> None:
    assert logged_counters(events(vacuum(0, 900), vacuum(0, 100)))[Counter.DEAD_ROWS_KEPT_SHARE] == 1.0
    assert logged_counters(events(vacuum(75, 25)))[Counter.DEAD_ROWS_KEPT_SHARE] == 0.25
    assert logged_counters(events(vacuum(0, 0))) == {}
    assert logged_counters(events(vacuum(0, 9, automatic=False))) == {}
