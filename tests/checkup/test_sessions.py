"""Illnesses of sessions and of the horizon: seen on real servers, treated, and gone."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import psycopg
import pytest
from psycopg import pq

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.feedback import _feedback, feed_back_xmin

HOT_ROWS = "create table counters (id int primary key, v int not null)"
FILL = "insert into counters select n, 0 from generate_series(1, 100) n"
UPDATES = (
    "do $$ begin for n in 1..6000 loop update counters set v = v + 1 where id = 1 + n % 100; commit; end loop; end $$"
)
LATER = "select true from pg_sleep(2.2)"
#: feed_back_xmin() waits for a slot of this name.
SLOT = "pgclinic_holder"
#: What the dead rows of a held horizon make.
HELD = {
    "dead-rows": "they are what the hold keeps",
    "autovacuum-without-effect": "it can remove nothing",
    "hot-updates-lost": "pages are full of rows that cannot be pruned",
    "table-bloat": "the table has grown by them",
    "index-bloat": "the index has grown by them",
}


def hold_the_horizon(sick: Patient) -> None:
    sick.sql(HOT_ROWS, FILL)
    sick.session("begin isolation level repeatable read", "select count(*) from counters", name="report")
    sick.sql(UPDATES)
    sick.until(LATER)


def hold_it_for_a_moment(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL)
    near.sql(UPDATES)
    near.session("begin isolation level repeatable read", "select count(*) from counters", name="report")


def run_a_long_query(sick: Patient) -> None:
    sick.sql(HOT_ROWS, FILL)
    start_a_report(sick)
    sick.sql(UPDATES)
    sick.until(LATER)


def run_it_afterwards(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL)
    near.sql(UPDATES)
    start_a_report(near)
    near.until(LATER)


def start_a_report(patient: Patient) -> None:
    patient.blocked("select count(*), pg_sleep(60) from counters", name="report")
    patient.until("select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep'")


def prepare(patient: Patient) -> None:
    patient.sql(HOT_ROWS, FILL, "create table orders (id int primary key)")
    patient.sql("begin", "insert into orders values (17)", "prepare transaction 'order''s 17'")


def prepare_and_leave(sick: Patient) -> None:
    prepare(sick)
    sick.sql(UPDATES)
    sick.until(LATER)


def prepare_late(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL, UPDATES, "create table orders (id int primary key)")
    near.sql("begin", "insert into orders values (17)", "prepare transaction 'order''s 17'")


def leave_a_slot(sick: Patient) -> None:
    sick.sql(HOT_ROWS, FILL, f"select pg_create_physical_replication_slot('{SLOT}', true)")
    feed_back_xmin(sick.access, SLOT)
    sick.until(f"select not active from pg_replication_slots where slot_name = '{SLOT}'")
    sick.sql(UPDATES)


def leave_a_slot_without_feedback(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL, f"select pg_create_physical_replication_slot('{SLOT}', true)")
    near.sql(UPDATES)


def attach_a_standby(patient: Patient, *, needs_rows: bool) -> None:
    """A receiver of WAL; with ``needs_rows`` it reports the oldest snapshot of its queries, as a standby does."""
    connection = pq.PGconn.connect(f"{dsn_of(patient.running.server)} replication=database".encode())
    xid = int(asked(connection, b"select txid_snapshot_xmax(txid_current_snapshot())"))
    position = asked(connection, b"IDENTIFY_SYSTEM", column=2).decode()
    started = connection.exec_(f"START_REPLICATION PHYSICAL {position}".encode())
    assert started.status == pq.ExecStatus.COPY_BOTH, connection.error_message
    if needs_rows:
        connection.put_copy_data(_feedback(xid))
        connection.flush()
        patient.until("select bool_and(backend_xmin is not null) from pg_stat_replication")
    patient.until("select count(*) = 1 from pg_stat_replication")
    stop = threading.Event()
    thread = threading.Thread(target=receive, args=(connection, stop), daemon=True)
    patient.stack.callback(thread.join, 10)
    patient.stack.callback(stop.set)
    thread.start()


def receive(connection: pq.abc.PGconn, stop: threading.Event) -> None:
    """Take what is sent until the server ends it: a sender that cannot send hears no signal."""
    with suppress(psycopg.Error):
        while not stop.wait(0.05):
            connection.consume_input()
            while connection.get_copy_data(1)[0] > 0:
                pass
    connection.finish()


def asked(connection: pq.abc.PGconn, command: bytes, column: int = 0) -> bytes:
    value = connection.exec_(command).get_value(0, column)
    assert value is not None
    return value


def report_on_a_standby(sick: Patient) -> None:
    sick.sql(HOT_ROWS, FILL)
    attach_a_standby(sick, needs_rows=True)
    sick.sql(UPDATES)


def rest_on_a_standby(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL)
    attach_a_standby(near, needs_rows=False)
    near.sql(UPDATES)


def detach_the_standby(sick: Patient, _found: Finding) -> None:
    """The report is on another server; here only its receiver can be ended."""
    sick.sql("select pg_terminate_backend(pid) from pg_stat_replication")
    sick.until("select count(*) = 0 from pg_stat_replication")


MAKE_TEMPORARY_TABLES = (
    "do $$ begin for n in 1..700 loop create temporary table x (a int); drop table x; commit; end loop; end $$"
)
SUBSCRIBE = "select pg_create_logical_replication_slot('warehouse', 'pgoutput')"


def forget_a_subscriber(sick: Patient) -> None:
    sick.sql(SUBSCRIBE, "set synchronous_commit = off", MAKE_TEMPORARY_TABLES)


def forget_it_without_ddl(near: Patient) -> None:
    near.sql(SUBSCRIBE, HOT_ROWS, FILL, UPDATES)


def insert_rows(count: int) -> str:
    return f"do $$ begin for n in 1..{count} loop insert into counters values (n + 1000, 0); commit; end loop; end $$"


def rest_in_a_transaction(sick: Patient) -> None:
    sick.sql(HOT_ROWS, FILL)
    sick.session("begin isolation level repeatable read", "select count(*) from counters", name="editor")
    sick.sql("set synchronous_commit = off", insert_rows(1500))
    sick.until(LATER)


def rest_while_little_happens(near: Patient) -> None:
    near.sql(HOT_ROWS, FILL)
    near.session("begin isolation level repeatable read", "select count(*) from counters", name="editor")
    near.sql("set synchronous_commit = off", insert_rows(500))
    near.until(LATER)


def prepare_and_wait_for_it(sick: Patient) -> None:
    prepare(sick)
    sick.blocked("insert into orders values (17)", name="clerk")
    sick.until("select count(*) = 1 from pg_stat_activity where wait_event_type = 'Lock'")
    # Outside of the server, whose statements would else be this one alone.
    time.sleep(1.2)


def send(messages: int) -> str:
    return f"select count(pg_notify('work', repeat('x', 7000) || n)) from generate_series(1, {messages}) n"


def listen_in_a_transaction(sick: Patient) -> None:
    sick.session("listen work", "begin", "select 1", name="listener")
    sick.sql(send(20))


def send_a_few(near: Patient) -> None:
    near.session("listen work", "begin", "select 1", name="listener")
    near.sql(send(3))


#: Whether the transaction is open while the client works is switched by a row, as an application is by a release.
WORK = """
select value from mode \\gset
\\if 1 - :value
begin;
\\endif
select value from mode;
\\sleep 200 ms
\\if 1 - :value
commit;
\\endif
"""


def work(patient: Patient, mode: int) -> None:
    patient.sql("create table mode (value int not null)", f"insert into mode values ({mode})")
    patient.load(WORK, clients=12)
    patient.until("select count(*) >= 12 from pg_stat_activity where application_name = 'pgclinic-load'")


def end_transactions(sick: Patient, _found: Finding) -> None:
    sick.sql("update mode set value = 1")
    sick.until("select count(*) = 0 from pg_stat_activity where state = 'idle in transaction'")


ILLNESSES = (
    Illness(
        pathology="transactions-wait-for-client",
        sicken=lambda sick: work(sick, 0),
        near_miss=lambda near: work(near, 1),
        names=("idle in transaction",),
        treat=end_transactions,
    ),
    Illness(
        pathology="horizon-held-by-idle-session",
        sicken=hold_the_horizon,
        near_miss=hold_it_for_a_moment,
        names=("report", "public.counters"),
        beside=HELD,
        majors=("13", "18"),
    ),
    Illness(
        pathology="horizon-held-by-query",
        sicken=run_a_long_query,
        near_miss=run_it_afterwards,
        names=("report", "pg_sleep", "public.counters"),
        beside=HELD,
        majors=("13", "18"),
    ),
    Illness(
        pathology="horizon-held-by-prepared-transaction",
        sicken=prepare_and_leave,
        near_miss=prepare_late,
        names=("order's 17", "public.counters"),
        settings={"max_prepared_transactions": "2"},
        beside=HELD,
        majors=("13", "18"),
    ),
    Illness(
        pathology="horizon-held-by-slot",
        sicken=leave_a_slot,
        near_miss=leave_a_slot_without_feedback,
        names=(SLOT, "public.counters"),
        beside=HELD,
        majors=("13", "18"),
    ),
    Illness(
        pathology="horizon-held-by-standby",
        sicken=report_on_a_standby,
        near_miss=rest_on_a_standby,
        names=("standby ", "streaming", "public.counters"),
        beside=HELD | {"standby-lags": "it confirms nothing that it is sent"},
        treat=detach_the_standby,
    ),
    Illness(
        pathology="catalog-horizon-held-by-slot",
        sicken=forget_a_subscriber,
        near_miss=forget_it_without_ddl,
        names=("warehouse", "pg_catalog.pg_attribute"),
        settings={"wal_level": "logical"},
        beside={
            "catalog-bloat": "it is what the slot makes of DDL",
            "autovacuum-without-effect": "it can remove nothing",
        },
        majors=("13", "18"),
    ),
    Illness(
        pathology="open-transaction-idle",
        sicken=rest_in_a_transaction,
        near_miss=rest_while_little_happens,
        names=("editor",),
        beside={"never-analyzed": "the rows that came meanwhile were not analyzed"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="prepared-transaction-forgotten",
        sicken=prepare_and_wait_for_it,
        near_miss=prepare,
        names=("order's 17", "clerk", "a prepared transaction"),
        settings={"max_prepared_transactions": "2"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="notify-queue-filling",
        sicken=listen_in_a_transaction,
        near_miss=send_a_few,
        names=("listener", "max_notify_queue_pages"),
        settings={"max_notify_queue_pages": "64"},
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
