"""Detectors of locks on snapshots that were changed: what lasts for minutes, and what needs many sessions at a time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import (
    active,
    client,
    found,
    healthy_snapshot,
    lock,
    samples,
    waits,
    with_major,
    with_sessions,
)
from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import queued_behind, queues
from pgclinic.model.finding import Applies, Confidence, Finding, Severity, SubjectKind
from pgclinic.model.server_log import LoggedMessage, ServerLog
from pgclinic.model.snapshot import (
    LockCount,
    PreparedTransaction,
    SessionState,
    Snapshot,
    StatementText,
    SubtransactionCount,
)
from pgclinic.model.snapshot_counters import Counters, DatabaseCounters, SlruCounters


def only(pathology: str, snapshot: Snapshot) -> Finding:
    (finding,) = found(pathology, snapshot)
    return finding


def names(finding: Finding) -> list[str]:
    return [one.name for one in finding.evidence]


# Chains


def test_a_chain_ends_at_the_one_that_waits_for_nobody() -> None:
    case = Case(with_sessions(client(1), waits(2, 1), waits(3, 2), waits(4, 3, 2), waits(5, 0)))
    ends = {pid: {one.pid for one in waiting} for pid, waiting in queues(case).items()}
    assert ends == {1: {2, 3, 4}, 0: {5}}
    assert {one.pid for one in queued_behind(case, 2)} == {3, 4}
    assert {one.pid for one in queued_behind(case, 1)} == {2, 3, 4}


def test_a_circle_has_no_end() -> None:
    case = Case(with_sessions(waits(1, 2), waits(2, 1), waits(3, 1)))
    assert queues(case) == {}
    assert {one.pid for one in queued_behind(case, 1)} == {2, 3}


# What lasts


def idle(pid: int, seconds: float, state: str = "idle in transaction") -> Snapshot:
    return with_sessions(client(pid, state=state, state_s=seconds))


def test_a_minute_of_idleness_with_a_lock_is_a_notice() -> None:
    counts = (LockCount(pid=7, locks=2, relations=1, slow=0, advisory=0, waiting=0),)
    assert found("open-transaction-idle", replace(idle(7, 59.0), lock_counts=counts)) == ()
    finding = only("open-transaction-idle", replace(idle(7, 61.0), lock_counts=counts))
    assert finding.severity is Severity.NOTICE
    assert finding.evidence[0].pid == 7
    assert found("open-transaction-idle", replace(idle(7, 61.0), lock_counts=())) == ()


def test_who_blocks_others_is_no_mere_idle_transaction() -> None:
    holder = client(7, state="idle in transaction", state_s=90.0, xid_age=2000)
    alone, blocking = with_sessions(holder), with_sessions(holder, waits(8, 7))
    assert only("open-transaction-idle", alone).subject == "session 7 (app-7)"
    assert found("open-transaction-idle", blocking) == ()
    assert only("blocked-by-idle-session", blocking).severity is Severity.WARNING


def test_a_pause_between_two_statements_is_no_idleness() -> None:
    for state, seconds in (("idle in transaction", 0.5), ("active", 90.0)):
        snapshot = with_sessions(client(7, state=state, state_s=seconds), waits(8, 7))
        assert found("blocked-by-idle-session", snapshot) == ()


def test_ten_that_wait_or_half_a_minute_is_an_outage() -> None:
    holder = client(7, state="idle in transaction (aborted)", state_s=40.0)
    many = with_sessions(holder, *(waits(pid, 7, query_s=2.0) for pid in range(10, 20)))
    long = with_sessions(holder, waits(10, 7, query_s=31.0))
    for snapshot in (many, long):
        assert only("blocked-by-idle-session", snapshot).severity is Severity.CRITICAL


def prepared(seconds: float) -> PreparedTransaction:
    return PreparedTransaction(name="g", user="app", database="postgres", prepared_s=seconds, xid_age=5)


def test_a_prepared_transaction_of_five_minutes_is_a_notice() -> None:
    snapshot = healthy_snapshot()
    name = "prepared-transaction-forgotten"
    assert found(name, replace(snapshot, prepared_transactions=(prepared(299.0),))) == ()
    finding = only(name, replace(snapshot, prepared_transactions=(prepared(301.0),)))
    assert (finding.severity, finding.subject) == (Severity.NOTICE, "prepared transaction g")


def test_which_of_two_prepared_transactions_blocks_is_not_known() -> None:
    both = (prepared(2.0), replace(prepared(2.0), name="h"))
    findings = found("prepared-transaction-forgotten", with_sessions(waits(8, 0), prepared_transactions=both))
    assert [finding.severity for finding in findings] == [Severity.CRITICAL] * 2
    assert {finding.confidence for finding in findings} == {Confidence.POSSIBLE}


def ddl(waited_s: float | None, query: str = "alter table orders add x int") -> Snapshot:
    asked = lock(8, mode="AccessExclusiveLock", granted=False, waited_s=waited_s)
    sessions = (client(7), waits(8, 7, event="relation", query=query, query_s=6.0), waits(9, 8, event="relation"))
    return with_sessions(*sessions, locks=(asked,))


def test_a_ddl_queue_becomes_an_outage_after_five_seconds() -> None:
    assert found("ddl-lock-queue", ddl(0.5)) == ()
    assert only("ddl-lock-queue", ddl(2.0)).severity is Severity.WARNING
    assert only("ddl-lock-queue", ddl(5.5)).severity is Severity.CRITICAL
    # Before 14 the server does not say since when; the statement's age is the most that it can be.
    assert only("ddl-lock-queue", ddl(None)).severity is Severity.CRITICAL


def test_a_lock_table_of_an_application_is_no_ddl() -> None:
    assert found("ddl-lock-queue", ddl(2.0, query="LOCK TABLE orders")) == ()


# What needs many sessions


def queue(event: str, waiting: int, working: int) -> Snapshot:
    rows = (active(waiting, wait_event_type="Lock", wait_event=event), active(working))
    return replace(healthy_snapshot(), samples=samples({"activity": rows}))


def test_a_queue_is_two_sessions_and_a_third_of_all() -> None:
    assert found("row-lock-queue", queue("tuple", 1, 0)) == ()
    assert found("row-lock-queue", queue("tuple", 2, 6)) == ()
    finding = only("row-lock-queue", queue("tuple", 2, 4))
    assert finding.cost is not None
    assert finding.cost.value == 2.0
    assert finding.time_share == 1 / 3


def test_a_queue_names_the_statements_that_mostly_wait() -> None:
    texts = tuple(StatementText(query_id=query_id, text=f"update t{query_id} set v = $1") for query_id in (11, 12))
    waits_long = active(4, query_id=11, wait_event_type="Lock", wait_event="tuple")
    works_long = active(3, query_id=12), active(1, query_id=12, wait_event_type="Lock", wait_event="tuple")
    taken = samples({"activity": (waits_long, active(1, query_id=11), *works_long)})
    snapshot = replace(healthy_snapshot(), samples=taken, statement_texts=texts)
    finding = only("row-lock-queue", snapshot)
    assert [one.query_id for one in finding.evidence] == [11]
    assert {fact.name: fact.value for fact in finding.evidence[0].facts} == {
        "sessions that wait": 4.0,
        "part of its time that it waits": 0.8,
    }


def test_before_14_a_queue_names_who_waits_now_or_else_who_has_the_time() -> None:
    """Samples have no query ids there."""
    seen = healthy_snapshot()
    counted = replace(seen.counters.statements[0], query_id=11, calls=10)
    crowd = with_major(queue("tuple", 3, 0), 13)
    texts = (StatementText(query_id=11, text="update orders set v = $1"), StatementText(query_id=12, text="select $1"))

    def of(total_ms: float, *sessions: SessionState) -> list[int | None]:
        statements = (replace(counted, total_ms=total_ms), replace(counted, query_id=12, total_ms=total_ms))
        counters = replace(crowd.counters, statements=statements, at_epoch_s=100.0)
        before = replace(crowd.counters, statements=(), at_epoch_s=90.0)
        snapshot = replace(crowd, sessions=sessions, statement_texts=texts, counters=counters, counters_before=before)
        return [one.query_id for one in only("row-lock-queue", snapshot).evidence if one.kind is SubjectKind.STATEMENT]

    assert of(100.0, waits(8, 7, event="tuple", query="update orders set v = ?")) == [11]
    assert of(28_000.0) == [11]
    assert of(14_000.0) == []


def test_rows_of_an_idle_or_a_prepared_transaction_are_no_queue_of_their_own() -> None:
    crowd = queue("transactionid", 3, 0)
    for holders in ((client(7, state="idle in transaction", state_s=5.0),), ()):
        blocker = 7 if holders else 0
        snapshot = replace(crowd, sessions=(*holders, waits(8, blocker), waits(9, blocker)))
        assert found("row-lock-queue", snapshot) == ()


def test_a_leader_that_rests_is_perhaps_wanted() -> None:
    leader = client(7, state="idle", state_s=500.0)
    asked = lock(8, kind="advisory", mode="ExclusiveLock", granted=False, advisory_key=99)
    followers = (waits(8, 7, event="advisory"), waits(9, 7, event="advisory"))
    snapshot = replace(queue("advisory", 2, 0), sessions=(leader, *followers), locks=(asked,))
    finding = only("advisory-lock-queue", snapshot)
    assert (finding.severity, finding.confidence) == (Severity.NOTICE, Confidence.POSSIBLE)
    assert finding.subject == "advisory lock 99"
    assert finding.treatments[0].sql == ("select pg_terminate_backend(7)",)


def partitions(query: str, transaction_s: float, *events: str) -> Snapshot:
    row = {"pid": 7, "locks": 150, "relations": 150, "slow": 90, "advisory": 0, "waiting": 0}
    seen = (active(1, wait_event_type="LWLock", wait_event=event) for event in events)
    taken = samples({"lock_counts": (row,), "activity": tuple(seen)})
    return with_sessions(client(7, query=query, transaction_s=transaction_s), samples=taken)


def test_waits_for_the_lock_manager_make_it_a_warning() -> None:
    name = "fast-path-locks-exhausted"
    calm, crowded = partitions("select ?", 0.1), partitions("select ?", 0.1, "LockManager")
    assert only(name, calm).severity is Severity.NOTICE
    finding = only(name, crowded)
    assert finding.severity is Severity.WARNING
    assert finding.treatments[0].settings == {"max_locks_per_transaction": "256"}
    earlier = only(name, with_major(crowded, 17))
    assert [treatment.applies for treatment in earlier.treatments] == [Applies.APPLICATION]


def test_a_dump_takes_its_locks_once() -> None:
    assert found("fast-path-locks-exhausted", partitions("copy orders to stdout", 60.0)) == ()


# Counters


def with_slru(name: str, hits: int, reads: int = 0, transactions: int = 100, **changes: object) -> Snapshot:
    snapshot = healthy_snapshot()
    one = SlruCounters(
        name=name, zeroed=0, hits=hits, reads=reads, written=0, flushes=0, truncates=0, reset_epoch_s=None
    )
    first, *_ = snapshot.counters.databases
    ended = replace(first, commits=transactions, rollbacks=0)
    counters = replace(snapshot.counters, slru=(one,), databases=(ended,))
    return replace(snapshot, counters=counters, **changes)  # type: ignore[arg-type]


OVERFLOWED = (SubtransactionCount(pid=9, subtransactions=64, overflowed=True),)


def test_before_16_lookups_alone_show_an_overflow() -> None:
    name = "subtransaction-overflow"
    finding = only(name, with_major(with_slru("Subtrans", 20_000), 15))
    assert finding.confidence is Confidence.LIKELY
    assert found(name, with_slru("subtransaction", 20_000)) == ()
    # As many as transactions make whose subtransactions have room.
    assert found(name, with_major(with_slru("Subtrans", 20_000, transactions=320), 15)) == ()
    assert only(name, with_slru("subtransaction", 20_000, subtransactions=OVERFLOWED)).subject == "session 9"
    # Fewer than one a transaction since the reset may be those of another day.
    assert found(name, with_slru("subtransaction", 20_000, transactions=40_000, subtransactions=OVERFLOWED)) == ()


def observed_slru(major: int, lookups: int, transactions: int, assigned: int, **changes: object) -> Snapshot:
    """An observation of ten seconds in which so many IDs were assigned."""
    snapshot = with_major(with_slru("Subtrans" if major < 17 else "subtransaction", lookups, **changes), major)
    (first, (one,)) = snapshot.counters.databases[0], snapshot.counters.slru
    database = replace(first, commits=1_000 + transactions, rollbacks=0, xid_age=50 + assigned)
    now = replace(snapshot.counters, databases=(database,), at_epoch_s=110.0)
    earlier = replace(database, commits=1_000, xid_age=50)
    before = replace(now, databases=(earlier,), slru=(replace(one, hits=0),), at_epoch_s=100.0)
    return replace(snapshot, counters=now, counters_before=before)


def test_subtransactions_that_begin_are_no_lookups_of_others() -> None:
    """Thirty savepoints in each transaction, all with room: as many lookups as IDs."""
    name = "subtransaction-overflow"
    assert found(name, observed_slru(15, 60_000, 2_000, assigned=62_000)) == ()
    assert only(name, observed_slru(15, 90_000, 2_000, assigned=62_000)).confidence is Confidence.LIKELY
    assert found(name, observed_slru(15, 65_000, 2_000, assigned=62_000)) == ()
    # An import with a hundred thousand savepoints beside readers of other rows.
    assert found(name, observed_slru(18, 100_000, 500, assigned=100_050, subtransactions=OVERFLOWED)) == ()


def test_few_lookups_of_an_overflowed_session_are_a_notice() -> None:
    name = "subtransaction-overflow"
    for lookups, severity in ((90, None), (700, Severity.NOTICE), (9_000, Severity.NOTICE), (20_000, Severity.WARNING)):
        seen = found(name, observed_slru(18, lookups, 5_000, assigned=0, subtransactions=OVERFLOWED))
        assert [one.severity for one in seen] == ([severity] if severity is not None else [])


def test_waits_for_multixacts_are_enough() -> None:
    rows = (active(1, wait_event_type="LWLock", wait_event="MultiXactMemberSLRU"), active(9))
    snapshot = with_slru("multixact_member", 10, samples=samples({"activity": rows}))
    finding = only("multixact-members", snapshot)
    assert finding.time_share == 0.1
    assert found("multixact-members", with_slru("multixact_member", 10)) == ()
    assert only("multixact-members", with_slru("multixact_member", 5_000)).severity is Severity.WARNING
    assert found("multixact-members", with_slru("multixact_member", 5_000, transactions=2_000)) == ()


def test_misses_are_a_rate_and_a_share() -> None:
    snapshot = with_slru("transaction", hits=0, reads=0)
    server = snapshot.server
    later = replace(server, clock_epoch_s=server.started_epoch_s + 100)

    def of(hits: int, reads: int) -> Snapshot:
        seen = with_slru("transaction", hits=hits, reads=reads)
        (one,) = seen.counters.slru
        slru = (replace(one, reset_epoch_s=server.started_epoch_s),)
        return replace(seen, server=later, counters=replace(seen.counters, slru=slru))

    assert found("slru-misses", of(0, 9_000)) == ()
    assert found("slru-misses", of(2_000_000, 11_000)) == ()
    finding = only("slru-misses", of(20_000, 11_000))
    assert finding.subject == "transaction cache"
    assert finding.cost is not None
    assert finding.cost.value == pytest.approx(110 * 8192)
    assert finding.treatments[0].applies is Applies.RESTART
    assert set(finding.treatments[0].settings) == {"transaction_buffers"}
    earlier = only("slru-misses", with_major(of(20_000, 11_000), 16))
    assert earlier.treatments[0].applies is Applies.APPLICATION


def test_lookups_of_one_session_with_many_savepoints_need_no_larger_cache() -> None:
    server = healthy_snapshot().server
    seen = with_slru("subtransaction", hits=20_000, reads=2_000_000, transactions=1_000)
    (counted,) = seen.counters.slru
    counters = replace(seen.counters, slru=(replace(counted, reset_epoch_s=server.clock_epoch_s - 100),))
    alone = replace(seen, counters=counters)
    assert only("slru-misses", alone).treatments[-1].applies is Applies.RESTART
    finding = only("slru-misses", replace(alone, subtransactions=OVERFLOWED))
    assert finding.treatments[0].sql == ("select pg_terminate_backend(9)",)
    assert not [treatment for treatment in finding.treatments if treatment.settings or "upgrade" in treatment.title]


def with_database(seconds: float, **changes: object) -> Snapshot:
    snapshot = healthy_snapshot()
    name = snapshot.server.database
    one: DatabaseCounters = next(database for database in snapshot.counters.databases if database.name == name)
    reset = snapshot.server.clock_epoch_s - seconds
    server = replace(snapshot.server, started_epoch_s=reset)
    counters: Counters = replace(
        snapshot.counters,
        databases=(replace(one, reset_epoch_s=reset, **changes),),  # type: ignore[arg-type]
    )
    return replace(snapshot, server=server, counters=counters)


def test_deadlocks_are_a_warning_by_the_time_that_they_stall() -> None:
    assert found("deadlocks", with_database(100.0, deadlocks=2)) == ()
    assert found("deadlocks", with_database(86_400.0, deadlocks=20)) == ()
    assert only("deadlocks", with_database(86_400.0, deadlocks=30)).severity is Severity.NOTICE
    assert only("deadlocks", with_database(86_400.0, deadlocks=900)).severity is Severity.WARNING


def test_deadlocks_of_before_a_restart_are_no_warning() -> None:
    snapshot = with_database(3_600.0, deadlocks=900)
    assert only("deadlocks", snapshot).severity is Severity.WARNING
    (database,) = snapshot.counters.databases
    counters = replace(snapshot.counters, databases=(replace(database, reset_epoch_s=None),))
    restarted = replace(snapshot, counters=counters)
    finding = only("deadlocks", restarted)
    assert (finding.severity, finding.confidence) == (Severity.NOTICE, Confidence.POSSIBLE)
    before = replace(counters, databases=(replace(database, deadlocks=899),), at_epoch_s=counters.at_epoch_s - 5)
    assert only("deadlocks", replace(restarted, counters_before=before)).severity is Severity.WARNING


def test_failures_are_not_counted_where_statements_were_reset_later() -> None:
    name = "transactions-rolled-back"
    few = with_database(100.0, commits=2, rollbacks=500)
    assert "rolled back after an error" in {fact.name for fact in only(name, few).evidence[0].facts}
    assert found(name, with_database(100.0, commits=1_000_000, rollbacks=500_000)) == ()
    assert found(name, with_database(100.0, commits=10, rollbacks=90)) == ()


def test_the_log_says_what_failed() -> None:
    messages = (
        LoggedMessage(severity="LOG", sqlstate=None, text="checkpoint starting", times=900),
        LoggedMessage(severity="ERROR", sqlstate="23505", text="duplicate key value", times=400),
    )
    log = ServerLog(path="server.log", bytes_read=1, entries=2, not_understood=0, seconds=60.0, messages=messages)
    (finding,) = found("transactions-rolled-back", with_database(100.0, commits=2, rollbacks=500), log)
    facts = {fact.name: fact.value for fact in finding.evidence[-1].facts}
    assert facts["ERROR: duplicate key value"] == 400
    assert not any("checkpoint" in name for name in facts)


def test_failures_are_possible_where_rollback_is_used() -> None:
    """A prepared ROLLBACK is counted once."""
    snapshot = with_database(100.0, commits=2, rollbacks=500)
    used = replace(
        snapshot,
        statement_texts=(*snapshot.statement_texts, StatementText(query_id=1, text="ROLLBACK")),
        counters=replace(
            snapshot.counters,
            statements=(*snapshot.counters.statements, replace(snapshot.counters.statements[0], query_id=1, calls=300)),
        ),
    )
    finding = only("transactions-rolled-back", used)
    assert (finding.severity, finding.confidence) == (Severity.NOTICE, Confidence.POSSIBLE)
    assert finding.evidence[0].facts[0].value == 200
    savepoint = replace(used, statement_texts=(StatementText(query_id=1, text="rollback to savepoint a"),))
    assert only("transactions-rolled-back", savepoint).severity is Severity.WARNING
