"""Treatments that are run later: if the session, index, slot or table is another one by then, the file does nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.checkups import DEAD_ROWS, HELD, SICK
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.index_upkeep import create_index_on, drop_index
from pgclinic.checkup.treatments import cancel_query, end_session
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Applies, Confidence, Evidence, Finding, SubjectKind, Treatment
from pgclinic.model.snapshot import Snapshot
from pgclinic.report.exports.treatment import treatment_sql
from pgclinic.report.exports.treatment_script import treatment_script

PSQL = shutil.which("psql")
pytestmark = pytest.mark.skipif(PSQL is None, reason="no psql on this machine")


@pytest.fixture(scope="module", params=["13", "18"])
def server(request: pytest.FixtureRequest) -> Iterator[Patient]:
    with patient(request.param, {"max_prepared_transactions": "4", "wal_level": "logical"}) as made:
        made.sql("create table orders as select n as id, n % 1000 as customer from generate_series(1, 20000) n")
        yield made


def snapshot_of(server: Patient) -> Snapshot:
    return take_snapshot(server.access, observe_s=0.0)


def psql(server: Patient, text: str, *, stops: bool = True) -> subprocess.CompletedProcess[str]:
    known = server.running.server
    command = [
        PSQL or "psql",
        "-X",
        "-q",
        "-h",
        known.host,
        "-p",
        str(known.port),
        "-d",
        known.database,
        "-U",
        known.user,
    ]
    stop = ["-v", "ON_ERROR_STOP=1"] if stops else []
    return subprocess.run(
        [*command, *stop], input=text, capture_output=True, text=True, timeout=60, check=False, env={**os.environ}
    )


def file_of(snapshot: Snapshot, treatment: Treatment) -> str:
    return treatment_sql(SICK, replace(HELD, treatments=(treatment,)), treatment, snapshot)


def there(server: Patient, pid: int) -> bool:
    return bool(server.rows(f"select exists (select from pg_stat_activity where pid = {pid})")[0][0])


def end(pid: int) -> Treatment:
    return end_session(pid, title="end the session", risk="r")


def test_the_session_that_was_seen_is_ended_and_a_second_run_ends_nobody(server: Patient) -> None:
    forgotten = server.session("begin", "select pg_current_xact_id()", name="report")
    text = file_of(snapshot_of(server), end(forgotten.backend_pid))
    assert "backend_start = timestamptz" in text
    assert psql(server, text).returncode == 0
    server.until(f"select not exists (select from pg_stat_activity where pid = {forgotten.backend_pid})")
    again = psql(server, text)
    assert again.returncode == 0, again.stderr


def test_another_session_with_the_same_pid_lives(server: Patient) -> None:
    """A pid cannot be asked for, so the session of the snapshot gets that of another one."""
    seen, other = (server.session("begin", "select pg_current_xact_id()", name=name) for name in ("report", "other"))
    snapshot = snapshot_of(server)
    sessions = [session for session in snapshot.sessions if session.pid != other.backend_pid]
    reused = tuple(
        replace(session, pid=other.backend_pid) if session.pid == seen.backend_pid else session for session in sessions
    )
    text = file_of(replace(snapshot, sessions=reused), end(other.backend_pid))
    assert psql(server, text).returncode == 0
    assert there(server, other.backend_pid)


def test_a_session_that_went_on_to_another_transaction_lives(server: Patient) -> None:
    session = server.session("begin", "select pg_current_xact_id()", name="report")
    text = file_of(snapshot_of(server), end(session.backend_pid))
    session.execute("commit")
    session.execute("begin")
    session.execute("select pg_current_xact_id()")
    assert psql(server, text).returncode == 0
    assert there(server, session.backend_pid)


def test_a_query_that_has_ended_is_not_cancelled(server: Patient) -> None:
    server.blocked("select pg_sleep(40)", name="long")
    server.until(
        "select exists (select from pg_stat_activity where query like 'select pg_sleep%' and pid <> pg_backend_pid())"
    )
    snapshot = snapshot_of(server)
    (long,) = [session for session in snapshot.sessions if session.application == "long"]
    stale = replace(long, query_start_epoch_s=(long.query_start_epoch_s or 0.0) - 1.0)
    cancel = cancel_query(long.pid, title="cancel", risk="r")
    assert psql(server, file_of(replace(snapshot, sessions=(stale,)), cancel)).returncode == 0
    assert server.rows(f"select state from pg_stat_activity where pid = {long.pid}") == [("active",)]
    assert psql(server, file_of(snapshot, cancel)).returncode == 0
    server.until(f"select not exists (select from pg_stat_activity where pid = {long.pid} and state = 'active')")


def test_an_index_of_the_same_name_made_since_stays(server: Patient) -> None:
    server.sql("create index old_one on orders (customer)")
    snapshot = snapshot_of(server)
    (index,) = [one for one in orders(snapshot).indexes if one.state.name == "old_one"]
    text = file_of(snapshot, drop_index(index, title="drop it", risk="r"))
    server.sql("drop index old_one", "create index old_one on orders (id)")
    refused = psql(server, text)
    assert refused.returncode == 3
    assert "nothing was done" in refused.stderr
    assert server.rows("select to_regclass('old_one') is not null") == [(True,)]
    server.sql("drop index old_one")
    assert psql(server, text).returncode == 0, "an index that is gone is no error"


def test_an_index_is_made_once_and_on_the_table_that_was_seen(server: Patient) -> None:
    snapshot = snapshot_of(server)
    text = file_of(snapshot, index_on_orders(snapshot))
    for _ in range(2):
        done = psql(server, text)
        assert done.returncode == 0, done.stderr
    assert server.rows("select count(*) from pg_index where indrelid = 'orders'::regclass") == [(1,)]
    server.sql("drop table orders", "create table orders (id int, customer int)")
    assert psql(server, text).returncode == 3
    assert server.rows("select count(*) from pg_index where indrelid = 'orders'::regclass") == [(0,)]
    server.sql("insert into orders select n, n % 1000 from generate_series(1, 20000) n")


def index_on_orders(snapshot: Snapshot) -> Treatment:
    return create_index_on(orders(snapshot), "customer", name="orders_customer_idx", title="index")


def orders(snapshot: Snapshot) -> Table:
    (found,) = [table for table in Case(snapshot).all_tables.values() if table.name == "public.orders"]
    return found


def test_a_slot_that_is_gone_or_new_is_left_alone(server: Patient) -> None:
    make = "select pg_create_physical_replication_slot('standby', true)"
    server.sql(make, "create table wal_maker as select generate_series(1, 100000)", "select pg_switch_wal()")
    snapshot = snapshot_of(server)
    drop = Treatment(title="drop", applies=Applies.STATEMENT, sql=("select pg_drop_replication_slot('standby')",))
    text = file_of(snapshot, drop)
    server.sql("select pg_drop_replication_slot('standby')", "checkpoint", make)
    assert psql(server, text).returncode == 0
    assert server.rows("select count(*) from pg_replication_slots") == [(1,)], (
        "it keeps less than the one that was seen"
    )
    assert psql(server, file_of(snapshot_of(server), drop)).returncode == 0
    assert server.rows("select count(*) from pg_replication_slots") == [(0,)]
    assert psql(server, text).returncode == 0


def test_all_ends_where_a_forgotten_transaction_is_in_the_way_of_an_index(server: Patient) -> None:
    """The index stands first in the checkup; built first it would wait for the transaction without an end."""
    server.sql("drop index if exists orders_customer_idx")
    forgotten = server.session("begin isolation level repeatable read", "select count(*) from orders", name="report")
    snapshot = snapshot_of(server)
    aged = replace(
        snapshot,
        sessions=tuple(
            replace(session, transaction_s=7200.0) if session.pid == forgotten.backend_pid else session
            for session in snapshot.sessions
        ),
    )
    missing = finding("missing-index", index_on_orders(snapshot))
    held = replace(
        finding("horizon-held-by-idle-session", end(forgotten.backend_pid)),
        evidence=(Evidence(kind=SubjectKind.SESSION, name="session", pid=forgotten.backend_pid),),
    )
    checkup: Checkup = replace(SICK, findings=(missing, held))
    alone = treatment_sql(checkup, missing, missing.treatments[0], aged)
    assert f"session {forgotten.backend_pid} (report), transaction open for 2 h" in alone.replace("\n-- ", " ")
    assert "treat finding 2 first" in alone.replace("\n-- ", " ")

    script = treatment_script(checkup, aged)
    assert script.index("pg_terminate_backend") < script.index("create index concurrently")
    for _ in range(2):
        done = psql(server, script, stops=False)
        assert done.returncode == 0, done.stderr
    assert not there(server, forgotten.backend_pid)
    assert server.rows("select indisvalid from pg_index where indexrelid = 'orders_customer_idx'::regclass") == [
        (True,)
    ]


def finding(pathology: str, treatment: Treatment) -> Finding:
    return replace(
        DEAD_ROWS, pathology=pathology, key=pathology, confidence=Confidence.CERTAIN, treatments=(treatment,), proofs=()
    )


def test_old_snapshots_compare_ages(server: Patient, tmp_path: Path) -> None:
    """A run of an earlier version has no moments."""
    session = server.session("begin", "select pg_current_xact_id()", name="report")
    snapshot = snapshot_of(server)
    none = {"backend_start_epoch_s": None, "transaction_start_epoch_s": None, "query_start_epoch_s": None}
    old = replace(snapshot, sessions=tuple(replace(one, **none) for one in snapshot.sessions))
    text = file_of(old, end(session.backend_pid))
    assert "backend_start between timestamptz" in text
    assert psql(server, text).returncode == 0
    server.until(f"select not exists (select from pg_stat_activity where pid = {session.backend_pid})")
