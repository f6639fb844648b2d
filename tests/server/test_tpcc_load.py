"""TPC-C on a real server: every kind of end is counted, the data stay consistent, and the load ends on time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import run_load
from pgclinic.load.tpcc_consistency import check_consistency
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.load import Convention, Isolation, LoadResult, LoadSpec, ScriptResult, Target, TpccSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.pg.session import Access, Session

TERMINALS = 10
SETTINGS = {"fsync": "off", "shared_buffers": "256MB", "max_connections": "40"}
#: What a load may need beyond its own times: connecting, and the answers to requests to cancel.
ENDS_WITHIN_S = 6.0


@pytest.fixture(scope="module")
def access() -> Iterator[Access]:
    with start_server(binaries_for("18"), settings=SETTINGS) as running:
        access = Access(running.server, running.secrets)
        fill_tpcc(access, 1, seed=3)
        yield access


def run(
    access: Access,
    convention: Convention = Convention.SPEC,
    isolation: Isolation = Isolation.READ_COMMITTED,
    *,
    measure_s: float = 3.0,
    drain_s: float = 1.0,
    clients: int = TERMINALS,
    on_progress: Callable[[LoadProgress], None] | None = None,
) -> LoadResult:
    server = access.server
    spec = LoadSpec(
        target=Target(host=server.host, port=server.port, user=server.user, database=server.database),
        clients=clients,
        measure_s=measure_s,
        drain_s=drain_s,
        max_tries=3,
        seed=1,
        tpcc=TpccSpec(warehouses=1, convention=convention, isolation=isolation),
    )
    return run_load(spec, on_progress=on_progress)


def script(result: LoadResult, name: str) -> ScriptResult:
    return next(script for script in result.scripts if script.name == name)


@contextmanager
def session(access: Access) -> Iterator[Session]:
    with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as open_session:
        yield open_session


def value(access: Access, text: str) -> Any:
    with session(access) as asking:
        return asking.rows(text)[0][0]


def wait_for(access: Access, text: str, limit_s: float = 20.0) -> None:
    """Until the query says true."""
    deadline = time.monotonic() + limit_s
    while not value(access, text):
        assert time.monotonic() < deadline, text
        time.sleep(0.02)


# BenchBase's Payment loses updates below REPEATABLE READ; the specification's locks what it writes back.
@pytest.mark.parametrize(
    ("convention", "isolation"),
    [(Convention.BENCHBASE, Isolation.REPEATABLE_READ), (Convention.SPEC, Isolation.READ_COMMITTED)],
)
def test_all_five_transactions_commit_and_the_data_stay_consistent(
    access: Access, convention: Convention, isolation: Isolation
) -> None:
    orders_before = value(access, "SELECT count(*) FROM oorder")
    seconds: list[LoadProgress] = []
    result = run(access, convention, isolation, on_progress=seconds.append)
    assert [script.name for script in result.scripts] == [
        "new_order",
        "payment",
        "order_status",
        "delivery",
        "stock_level",
    ]
    assert all(script.transactions > 0 for script in result.scripts), result.scripts
    assert all(failure.sqlstate in {"40001", "40P01"} for failure in result.failures), result.failures
    orders = value(access, "SELECT count(*) FROM oorder") - orders_before
    # What ends in the grace after measuring is in the database and not in the figures.
    assert 0 <= orders - script(result, "new_order").transactions <= TERMINALS
    measured = [second for second in seconds if second.phase == "measure"]
    assert sum(second.statements for second in measured) == result.statements > result.transactions
    assert sum(second.rolled_back for second in measured) == result.rolled_back
    assert sum(second.statements for second in result.seconds) == result.statements
    assert not check_consistency(access)


def test_one_order_of_a_hundred_rolls_back_and_is_neither_a_commit_nor_a_failure(access: Access) -> None:
    result = run(access, measure_s=4.0)
    orders = script(result, "new_order")
    ended = orders.transactions + orders.rolled_back
    assert orders.rolled_back > 0
    # Four standard deviations around one of a hundred.
    assert abs(orders.rolled_back - ended / 100) < 4 * (ended * 0.01 * 0.99) ** 0.5 + 1
    assert result.rolled_back == orders.rolled_back
    assert orders.latency.count == orders.transactions
    rollback = next(statement for statement in orders.statements if statement.text == "ROLLBACK")
    assert rollback.executions == orders.rolled_back


def test_serialization_failures_are_counted_by_attempt_and_by_transaction(access: Access) -> None:
    result = run(access, Convention.BENCHBASE, Isolation.SERIALIZABLE)
    assert result.retries >= result.retried > 0
    failed = sum(failure.count for failure in result.failures if failure.sqlstate == "40001")
    assert failed > 0
    assert sum(failure.count for failure in result.failures) == result.failed
    by_second = [failure for second in result.seconds for failure in second.failures]
    assert sum(failure.count for failure in by_second) == result.failed
    attempts = sum(statement.failures for script in result.scripts for statement in script.statements)
    # Each transaction that was given up failed three times; those of a deadlock once.
    assert attempts >= 3 * failed
    assert not check_consistency(access)


@contextmanager
def running(access: Access, results: list[LoadResult], **changes: Any) -> Iterator[None]:
    """A load beside the test that is past its beginning; its result is in ``results`` afterwards."""
    payments = value(access, "SELECT count(*) FROM history")
    load = Thread(target=lambda: results.append(run(access, **changes)))
    load.start()
    try:
        # Preparing statements takes locks, too: whoever wants to be in the way waits for the first commit.
        wait_for(access, f"SELECT count(*) > {payments} FROM history")
        yield
    finally:
        load.join(timeout=60)


def test_a_deadlock_is_a_failure_that_benchbase_does_not_try_again(access: Access) -> None:
    results: list[LoadResult] = []
    benchbase = {"convention": Convention.BENCHBASE, "isolation": Isolation.REPEATABLE_READ}
    with running(access, results, clients=2, measure_s=6.0, **benchbase), session(access) as rival:
        rival.execute("SET deadlock_timeout = '60s'")
        rival.execute("BEGIN")
        rival.execute("LOCK TABLE history IN SHARE MODE")
        wait_for(access, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'history'::regclass")
        # A payment holds the warehouse and waits for us; now we wait for it, with more patience.
        rival.execute("UPDATE warehouse SET w_ytd = w_ytd")
        rival.execute("ROLLBACK")
    (result,) = results
    deadlocks = [failure for failure in result.failures if failure.sqlstate == "40P01" and failure.script == "payment"]
    payment = script(result, "payment")
    (insert,) = [at for at, one in enumerate(payment.statements) if one.text.startswith("INSERT INTO history")]
    # Who waits for the warehouse behind the payment is part of the circle, too, and may be the one that finds it.
    assert {failure.statement for failure in deadlocks} <= {0, insert}
    assert sum(failure.count for failure in deadlocks) >= 1
    at_insert = sum(failure.count for failure in deadlocks if failure.statement == insert)
    assert payment.statements[insert].failures == at_insert
    assert payment.statements[insert].retries == 0
    assert payment.transactions > 0, "the terminals go on"


def test_what_a_lock_holds_up_is_in_flight_with_its_statement(access: Access) -> None:
    results: list[LoadResult] = []
    began = time.monotonic()
    with session(access) as holder:
        with running(access, results, measure_s=4.0, drain_s=0.3):
            holder.execute("BEGIN")
            holder.execute("LOCK TABLE warehouse IN ACCESS EXCLUSIVE MODE")
        elapsed = time.monotonic() - began
        holder.execute("ROLLBACK")
    (result,) = results
    assert elapsed < 4.3 + ENDS_WITHIN_S
    assert len(result.in_flight) == TERMINALS
    blocked = {(running.script, running.statement) for running in result.in_flight}
    assert blocked <= {("payment", 0), ("new_order", 1)}
    assert ("payment", 0) in blocked
    assert all(0 < running.age_us <= 4_000_000 for running in result.in_flight)
    assert max(running.age_us for running in result.in_flight) > 500_000
    assert "warehouse" in script(result, "payment").statements[0].text
    idle_seconds = [second for second in result.seconds if not second.transactions and not second.statements]
    assert idle_seconds, "a second in which nothing moved is told, too"


def test_a_statement_of_hours_is_cancelled_when_the_load_ends(access: Access) -> None:
    with session(access) as admin:
        admin.execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(7200); RETURN new; END $$"
        )
        admin.execute("CREATE TRIGGER dawdle BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION dawdle()")
        try:
            began = time.monotonic()
            result = run(access, measure_s=2.0, drain_s=0.2, clients=4)
            elapsed = time.monotonic() - began
        finally:
            admin.execute("DROP FUNCTION dawdle() CASCADE")
    assert elapsed < 2.2 + ENDS_WITHIN_S
    inserting = [running for running in result.in_flight if running.script == "payment"]
    assert any(running.statement == 9 for running in inserting)
    idle = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgclinic-load' AND state = 'active'"
    wait_for(access, idle, limit_s=5.0)
    assert not check_consistency(access)


def test_an_incomplete_database_fails_by_its_table_and_an_absent_one_by_its_sqlstate(access: Access) -> None:
    with session(access) as admin:
        admin.execute("CREATE TABLE kept_items AS SELECT * FROM item")
        admin.execute("ALTER TABLE item RENAME TO item_away")
        try:
            absent = run(access, measure_s=1.0)
            admin.execute("ALTER TABLE kept_items RENAME TO item")
            admin.execute("DELETE FROM item")
            incomplete = run(access, measure_s=1.0)
        finally:
            admin.execute("DROP TABLE IF EXISTS item, kept_items")
            admin.execute("ALTER TABLE item_away RENAME TO item")
    assert {failure.sqlstate for failure in absent.failures if failure.script == "new_order"} == {"42P01"}
    orders = [failure for failure in incomplete.failures if failure.script == "new_order"]
    assert {failure.sqlstate for failure in orders} == {"script"}
    assert "table item" in orders[0].message
    assert script(incomplete, "payment").transactions > 0
