"""One row a statement: what the statistics, the engine, the activity and the log each know of it, put together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import load_result
from fixtures.statements import (
    SELECT,
    UPDATE,
    Counted,
    events_of,
    logged,
    plan,
    script,
    sent,
    statistics,
    waiting,
)
from pgclinic.model.load import LoadResult, ScriptResult
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.statement import LoggedPlans, LoggedTexts
from pgclinic.model.study import Counter
from pgclinic.model.trial_events import TrialEvents
from pgclinic.observe.views import DEFAULT_VIEWS
from pgclinic.samples.query_identity import identity_counters
from pgclinic.samples.statements import statements_seen
from pgclinic.sql.fingerprint import fingerprint, fingerprint_method

COUNTED_UPDATE = Counted(11, "UPDATE accounts SET balance = balance + $1 WHERE id = $2", total_ms=80.0)
COUNTED_SELECT = Counted(-22, "SELECT balance FROM accounts WHERE id = $1", total_ms=20.0)
SCAN = "Index Scan using accounts_pkey on accounts  (cost=0.28..8.29 rows=1 width=4)\n  Index Cond: (id = {})"
OTHER = "Seq Scan on accounts  (cost=0.00..17.50 rows=1 width=4)\n  Filter: (id = {})"


def load_of(*scripts: ScriptResult) -> LoadResult:
    return replace(load_result([100.0] * 10), scripts=scripts)


LOAD = load_of(script(sent(UPDATE), sent(SELECT, mean_us=200.0)))


def test_engine_and_statistics_meet_by_the_text() -> None:
    seen = statements_seen(statistics(COUNTED_SELECT, COUNTED_UPDATE), LOAD, TrialEvents(), major=18)
    assert seen.counted_by_server
    update, select = seen.statements
    assert (update.query_id, update.of_load, update.mean_ms, update.p50_ms) == (11, True, 0.8, 0.5)
    assert (select.query_id, select.of_load, select.calls, select.p99_ms) == (-22, True, 100, 1.0)
    assert (update.rows, update.hits, update.wal_bytes) == (100, 400, 7000)


def test_percentiles_are_left_out_where_two_ids_share_a_text() -> None:
    twin = Counted(12, "update accounts set balance = balance + $1 where (id) = $2")
    first, second = statements_seen(
        statistics(COUNTED_UPDATE, twin), load_of(script(sent(UPDATE))), TrialEvents(), major=18
    ).statements
    assert first.fingerprint == second.fingerprint
    assert first.of_load and second.of_load
    assert first.p50_ms is None and second.p50_ms is None


def test_others_are_rows_too_but_our_own_looks_are_not() -> None:
    other = Counted(33, "select count(*) from somebody_elses_table")
    own = next(view for view in DEFAULT_VIEWS if view.name == "database")
    looking = Counted(44, own.sql(18), total_ms=1e6)
    seen = statements_seen(statistics(COUNTED_UPDATE, other, looking), LOAD, TrialEvents(), major=18)
    assert [(statement.query_id, statement.of_load) for statement in seen.statements] == [(11, True), (33, False)]


def test_waits_belong_to_the_statement_that_waited() -> None:
    activity = (waiting(11, 3, "transactionid"), waiting(11, 1), waiting(-22, 1))
    samples = statistics(COUNTED_UPDATE, COUNTED_SELECT, activity=activity)
    early = Sample(at_s=-0.5, view="activity", rows=(waiting(11, 40, "tuple"),))
    update, select = statements_seen(
        replace(samples, taken=(early, *samples.taken)), LOAD, TrialEvents(), major=18
    ).statements
    assert [(wait.wait, wait.backends) for wait in update.waits] == [("Lock:transactionid", 3.0), ("running", 1.0)]
    assert [(wait.wait, wait.backends) for wait in select.waits] == [("running", 1.0)]


def test_plans_go_by_id_and_without_one_by_their_text() -> None:
    events = events_of(
        plan("SELECT balance FROM accounts WHERE id = 7;", SCAN.format(7), query_id=-22, ms=1.0),
        plan("SELECT balance FROM accounts WHERE id = 8;", SCAN.format(8), ms=3.0),
        plan("SELECT balance FROM accounts WHERE id = 9;", OTHER.format(9), query_id=-22, ms=9.0),
        plan("SELECT 1;", OTHER.format(9), query_id=99),
        plan("SELECT something FROM elsewhere;", OTHER.format(9)),
        # The line told the id of the statement before or after it.
        plan("SELECT balance FROM accounts WHERE id = 4;", SCAN.format(4), query_id=11, ms=2.0),
    )
    seen = statements_seen(statistics(COUNTED_UPDATE, COUNTED_SELECT), LOAD, events, major=18)
    assert (seen.plans_by_query_id, seen.plans_by_fingerprint, seen.plans_unmatched) == (2, 2, 2)
    update, select = seen.statements
    assert not update.plans
    scan, other = select.plans
    assert (scan.logged, scan.mean_ms, scan.max_ms, scan.plan) == (3, 2.0, 3.0, SCAN.format(8))
    assert (other.logged, other.max_ms) == (1, 9.0)


def test_without_statistics_the_engine_tells_and_the_log_gives_ids() -> None:
    events = events_of(logged("SELECT balance FROM accounts WHERE id = 5", -22))
    seen = statements_seen(Samples(), LOAD, events, major=18)
    assert not seen.counted_by_server
    assert [(statement.text, statement.query_id, statement.calls) for statement in seen.statements] == [
        (UPDATE.removesuffix(";"), None, 100),
        (SELECT.removesuffix(";"), -22, 100),
    ]
    assert seen.statements[0].mean_ms == pytest.approx(0.5)


def test_one_statement_in_two_scripts_is_one_row() -> None:
    load = load_of(script(sent(SELECT), name="a"), script(sent("select balance from accounts where id = 1"), name="b"))
    (row,) = statements_seen(Samples(), load, TrialEvents(), major=18).statements
    assert row.calls == 200


def test_counters_of_identity() -> None:
    own, other = fingerprint(UPDATE), fingerprint(SELECT)
    # At home; by an id that nobody counts; without one; by the id of another statement.
    plans = ((11, own, 3), (99, own, 1), (None, own, 2), (11, other, 2))
    texts = LoggedTexts(
        statements=9,
        texts=8,
        query_ids=2,
        agreement=0.75,
        fingerprints_by=fingerprint_method(),
        plans=tuple(LoggedPlans(query_id=one, fingerprint=text, logged=number) for one, text, number in plans),
    )
    counters = identity_counters(LOAD, statistics(COUNTED_UPDATE, Counted(33, "select 1")), TrialEvents(texts=texts))
    assert counters == {
        Counter.QUERY_IDS: 1.0,
        Counter.STATEMENT_TEXTS: 8.0,
        Counter.FINGERPRINT_AGREEMENT: 0.75,
        Counter.PLANS_LINKED_SHARE: 3 / 8,
    }


def test_counters_that_cannot_be_read_are_left_out() -> None:
    assert identity_counters(LOAD, Samples(), TrialEvents()) == {}
    empty = Samples(taken=(Sample(at_s=0.0, view="statements", rows=()),))
    plans = (LoggedPlans(query_id=None, fingerprint=None, logged=4),)
    without_ids = TrialEvents(texts=LoggedTexts(plans=plans))
    assert identity_counters(LOAD, empty, without_ids) == {Counter.QUERY_IDS: 0.0, Counter.PLANS_LINKED_SHARE: 0.0}
