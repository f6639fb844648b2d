"""What the time of one trial went into, and the words for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.bench import ACTIVITY, UPDATE, bench_trial
from fixtures.doubts import starved
from fixtures.observed import samples_of
from pgclinic.model.activity import TrialActivity, WorkKind
from pgclinic.model.sample import Samples
from pgclinic.model.study import Counter
from pgclinic.model.trial import TrialRecord
from pgclinic.report.sections.waits.view import labelled_lines, missing_rows, trust_rows, why_rows, why_tables
from pgclinic.report.words.doubts import doubt_words
from pgclinic.samples.trial_activity import IDLE, trial_activity

TRIAL = bench_trial()


def activity_of(record: TrialRecord = TRIAL) -> TrialActivity:
    activity = trial_activity(record)
    assert activity is not None
    return activity


def test_the_time_of_the_sessions_is_split_by_what_they_waited_for() -> None:
    activity = activity_of()
    assert activity.sessions == 10
    assert activity.session_us == pytest.approx(100_000)
    assert activity.samples == 21
    assert activity.waits == pytest.approx({IDLE: 0.4, "locks": 0.3, "WAL": 0.2, "running": 0.1})
    assert list(activity.waits) == [IDLE, "locks", "WAL", "running"]


def test_sessions_of_others_never_make_the_shares_more_than_all() -> None:
    busy = replace(TRIAL, samples=samples_of(20, activity=lambda _: ACTIVITY * 4))
    assert sum(activity_of(busy).waits.values()) == pytest.approx(1.0)


def test_work_is_per_transaction_and_events_are_counted() -> None:
    activity = activity_of(replace(TRIAL, counters={Counter.SERVER_CPU_US_PER_TRANSACTION.value: 412.0}))
    assert activity.work[WorkKind.BUFFERS] == pytest.approx(10, rel=0.1)
    assert activity.work[WorkKind.WAL] == pytest.approx(20_000, rel=0.1)
    assert activity.work[WorkKind.CPU] == 412.0
    assert (activity.checkpoints, activity.autovacuums) == (1, 3)
    (update,) = activity.statements
    assert update.share == pytest.approx(0.4)


def test_a_server_that_shows_nothing_leaves_the_clients_view() -> None:
    activity = activity_of(replace(TRIAL, samples=Samples(failed={"activity": "no"}), processes=(), counters={}))
    assert (activity.waits, activity.samples, activity.checkpoints) == ({}, 0, None)
    assert activity.work == {}
    assert len(activity.statements) == 1
    assert [label for label, _ in why_rows(activity)] == ["why"]


def test_nothing_measured_has_no_activity() -> None:
    load = TRIAL.load
    assert load is not None
    assert trial_activity(replace(TRIAL, load=replace(load, measured_s=0.0))) is None
    assert trial_activity(replace(TRIAL, load=None)) is None


def test_the_words_name_waits_work_and_statements() -> None:
    activity = activity_of(replace(TRIAL, counters={Counter.SERVER_CPU_US_PER_TRANSACTION.value: 412.0}))
    sessions, work, statements = (words for _, words in why_rows(activity))
    assert sessions == (
        "10 sessions: idle 40 %, waiting for locks 30 %, waiting for WAL 20 %, running 10 % (21 samples)"
    )
    assert work.startswith("per transaction: server CPU 412 µs, buffers visited ")
    assert work.endswith("; meanwhile 1 checkpoint and 3 autovacuum runs")
    assert statements.startswith("of 100 ms for each transaction: 40.0 ms update pgbench_accounts set abalance")
    assert [table.caption for table in why_tables(activity)] == [
        "What the sessions' time went into",
        "What the server did for a transaction",
        "The statements that took most time, as clients waited",
    ]


def test_doubts_come_with_advice_and_what_is_missing_with_its_reason() -> None:
    doubt = starved(0.4)
    rows = list(trust_rows(replace(TRIAL, doubts=(doubt,))))
    assert rows[0][0] == "trust"
    assert "server used 1.6 of 2 cores" in rows[0][1]
    assert rows[0][1].endswith("1 doubt")
    assert rows[1:] == [("doubt", doubt_words(doubt).text), ("advice", doubt_words(doubt).advice)]
    missing = dict(missing_rows(TRIAL))
    assert "pg_stat_statements" in missing["missing"]


def test_rows_are_wrapped_below_their_own_beginning() -> None:
    lines = labelled_lines([("why", f"{UPDATE} " * 3), ("trust", "fine")], 60)
    assert lines[0].startswith("  why         update")
    assert all(line.startswith(" " * 14) for line in lines[1:-1])
    assert lines[-1] == "  trust       fine"
    assert max(map(len, lines)) <= 60
