"""Illnesses of transactions and locks: seen on real servers, treated, and gone."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding
from pgclinic.pg.session import QueryError

ORDERS = "create table orders (id int primary key, v int not null)"
FILL_ORDERS = "insert into orders select n, 0 from generate_series(1, 1000) n"
#: What the clients of a load do is switched by a row, as an application is by its next release.
COUNTERS = (
    "create table counters (id int primary key, v int not null) with (fillfactor = 50)",
    "insert into counters select n, 0 from generate_series(1, 20) n",
    "create table mode (value int not null)",
    "insert into mode values (0)",
)
HEALED = "update mode set value = 1"
BETTER = "select true from pg_sleep(1.0)"
CLIENTS = 6


def waiting(count: int) -> str:
    return f"select count(*) = {count} from pg_stat_activity where wait_event_type = 'Lock'"


def wait_a_second(patient: Patient) -> None:
    patient.until("select true from pg_sleep(1.2)")


def switch(sick: Patient, _found: Finding) -> None:
    sick.sql(HEALED)
    sick.until(BETTER)


# A table that is locked by DDL


def queue_behind_ddl(sick: Patient) -> None:
    sick.sql(ORDERS, FILL_ORDERS)
    read_for_long(sick)
    sick.blocked("alter table orders add column later int", name="migration")
    sick.until(waiting(1))
    sick.blocked("select count(*) from orders", name="web")
    sick.until(waiting(2))
    wait_a_second(sick)


def wait_alone(near: Patient) -> None:
    near.sql(ORDERS, FILL_ORDERS)
    read_for_long(near)
    near.blocked("alter table orders add column later int", name="migration")
    near.until(waiting(1))
    wait_a_second(near)


def read_for_long(patient: Patient) -> None:
    patient.blocked("select count(*), pg_sleep(60) from orders", name="report")
    patient.until("select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep'")


SLOW = (
    "create function slow(int) returns int immutable language plpgsql as 'begin perform pg_sleep(0.1); return $1; end'"
)


def build_an_index(patient: Patient, statement: str) -> None:
    patient.sql(ORDERS, FILL_ORDERS, SLOW)
    patient.blocked(statement, name="migration")
    patient.until("select count(*) = 1 from pg_stat_activity where application_name = 'migration' and state = 'active'")
    patient.until("select count(*) >= 1 from pg_stat_activity where wait_event = 'PgSleep'")


def build_an_index_and_write(sick: Patient) -> None:
    build_an_index(sick, "create index on orders (slow(v))")
    sick.blocked("update orders set v = 1 where id = 1", name="web")
    sick.until(waiting(1))
    wait_a_second(sick)


def build_it_concurrently_and_write(near: Patient) -> None:
    build_an_index(near, "create index concurrently on orders (slow(v))")
    near.sql("update orders set v = 1 where id = 1")


def wait_for_an_idle_session(sick: Patient) -> None:
    sick.sql(ORDERS, FILL_ORDERS)
    sick.session("begin", "update orders set v = 1 where id = 1", name="clerk")
    for _ in range(2):
        sick.blocked("update orders set v = 2 where id = 1", name="web")
    sick.until(waiting(2))
    wait_a_second(sick)


def wait_for_one_that_works(near: Patient) -> None:
    near.sql(ORDERS, FILL_ORDERS)
    near.blocked("begin", "update orders set v = 1 where id = 1", "select pg_sleep(60)", name="clerk")
    near.until("select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep'")
    near.blocked("update orders set v = 2 where id = 1", name="web")
    near.until(waiting(1))
    wait_a_second(near)


# Queues of an application

UPDATE_ONE_ROW = """
select value from mode \\gset
begin;
update counters set v = v + 1 where id = 1 + :client_id * :value;
select pg_sleep(0.1);
commit;
"""
TAKE_ONE_ADVISORY_LOCK = """
select value from mode \\gset
begin;
select pg_advisory_xact_lock(42 + :client_id * :value);
select pg_sleep(0.1);
commit;
"""
LOCK_THE_TABLE = """
select value from mode \\gset
begin;
\\if 1 - :value
lock table counters in exclusive mode;
\\endif
update counters set v = v + 1 where id = 1 + :client_id;
select pg_sleep(0.1);
commit;
"""
LOCK_IN_TWO_ORDERS = """
select value from mode \\gset
\\set first 1 + (1 - :value) * (:client_id % 2)
\\set second 3 - :first
begin;
update counters set v = v + 1 where id = :first;
select pg_sleep(0.01);
update counters set v = v + 1 where id = :second;
commit;
"""


def run(patient: Patient, script: str) -> None:
    patient.sql(*COUNTERS)
    patient.load(script, clients=CLIENTS)


def queue_for_a_row(sick: Patient) -> None:
    run(sick, UPDATE_ONE_ROW)
    sick.until("select v > 4 from counters where id = 1")


def write_rows_of_their_own(near: Patient) -> None:
    near.sql(*COUNTERS, HEALED)
    near.load(UPDATE_ONE_ROW, clients=CLIENTS)
    near.until("select v > 4 from counters where id = 1")


def queue_for_an_advisory_lock(sick: Patient) -> None:
    run(sick, TAKE_ONE_ADVISORY_LOCK)
    sick.until("select count(*) >= 4 from pg_stat_activity where wait_event = 'advisory'")


def take_locks_of_their_own(near: Patient) -> None:
    near.sql(*COUNTERS, HEALED)
    near.load(TAKE_ONE_ADVISORY_LOCK, clients=CLIENTS)
    near.until("select count(*) >= 4 from pg_stat_activity where wait_event = 'PgSleep'")


def queue_for_a_table(sick: Patient) -> None:
    run(sick, LOCK_THE_TABLE)
    sick.until("select v > 4 from counters where id = 1")


def lock_rows_alone(near: Patient) -> None:
    near.sql(*COUNTERS, HEALED)
    near.load(LOCK_THE_TABLE, clients=CLIENTS)
    near.until("select v > 4 from counters where id = 1")


def deadlock(sick: Patient) -> None:
    run(sick, LOCK_IN_TWO_ORDERS)
    sick.until("select deadlocks >= 5 from pg_stat_database where datname = current_database()", limit_s=60)


def lock_in_one_order(near: Patient) -> None:
    near.sql(*COUNTERS, HEALED)
    near.load(LOCK_IN_TWO_ORDERS, clients=CLIENTS)
    near.until("select v > 20 from counters where id = 1")


def order_the_locks(sick: Patient, _found: Finding) -> None:
    """What sessions have counted so far is flushed within a second, and then forgotten."""
    sick.sql(HEALED)
    sick.until("select true from pg_sleep(2.5)")
    sick.sql("select pg_stat_reset()")


def fail(sick: Patient) -> None:
    session = sick.session()
    for _ in range(150):
        with suppress(QueryError):
            session.execute("select 1 / 0")
    session.close()


def roll_back_on_purpose(near: Patient) -> None:
    """Each with a text of its own: a prepared ROLLBACK is counted once."""
    near.sql(*[text for number in range(150) for text in (f"begin -- {number}", "select 1", f"rollback -- {number}")])


def fail_no_more(sick: Patient, _found: Finding) -> None:
    sick.sql("select pg_stat_reset()", "select pg_stat_statements_reset()")
    sick.sql(*["select 1"] * 150)


# Caches and tables of locks


def nest(patient: Patient, subtransactions: int) -> None:
    patient.sql(ORDERS, FILL_ORDERS)
    patient.session(
        "begin",
        f"do $$ begin for n in 1..{subtransactions} loop begin update orders set v = 1 where id = n; "
        "exception when others then raise; end; end loop; end $$",
        name="importer",
    )
    patient.sql(
        "create table items as select n from generate_series(1, 1000) n",
        "do $$ begin for n in 1..30 loop perform count(*) from items; end loop; end $$",
    )


def nest_deeply(sick: Patient) -> None:
    nest(sick, 200)


def nest_a_little(near: Patient) -> None:
    nest(near, 50)


PARENTS = (
    "create table parents (id int primary key)",
    "insert into parents select generate_series(1, 2000)",
    "create table children (parent_id int references parents)",
)
EACH_IN_A_SUBTRANSACTION = (
    "do $$ begin for n in 1..2000 loop begin insert into children values (n); "
    "exception when others then raise; end; end loop; end $$"
)
ALL_AT_ONCE = "insert into children select generate_series(1, 2000)"


def share_parents(sick: Patient) -> None:
    sick.sql(*PARENTS)
    insert_children_together(sick)


def insert_children_together(sick: Patient) -> None:
    sessions = [sick.session("begin", EACH_IN_A_SUBTRANSACTION)]
    sessions += [sick.session("begin", ALL_AT_ONCE) for _ in range(3)]
    for session in sessions:
        session.execute("commit")
        session.close()


def insert_children_one_after_the_other(near: Patient) -> None:
    near.sql(*PARENTS)
    near.sql(EACH_IN_A_SUBTRANSACTION)
    for _ in range(3):
        near.sql(ALL_AT_ONCE)


def drop_the_key(sick: Patient, _found: Finding) -> None:
    sick.sql("alter table children drop constraint children_parent_id_fkey", "select pg_stat_reset_slru(null)")
    insert_children_together(sick)


def catch_up(patient: Patient, pages: int) -> None:
    """Listeners that read a queue of so many pages, one after the other."""
    listeners = [patient.session("listen other", "begin") for _ in range(40)]
    patient.sql(f"select count(pg_notify('work', repeat('x', 7500) || n)) from generate_series(1, {pages}) n")
    for listener in listeners:
        listener.execute("commit")
        listener.close()


def lock_keys(count: int) -> str:
    return f"select count(pg_advisory_lock(n)) from generate_series(1, {count}) n"


def keep(patient: Patient, statement: str) -> None:
    patient.session(statement, name="importer")


def partitioned(count: int) -> tuple[str, str]:
    return (
        "create table measured (day int not null) partition by list (day)",
        f"do $$ begin for n in 1..{count} loop "
        "execute format('create table measured_%s partition of measured for values in (%s)', n, n); end loop; end $$",
    )


def read_partitions(patient: Patient, count: int) -> None:
    patient.sql(*partitioned(count))
    patient.load("select count(*), pg_sleep(0.05) from measured;", clients=4)
    patient.until("select count(*) >= 2 from pg_stat_activity where wait_event = 'PgSleep'")


ILLNESSES = (
    Illness(
        pathology="ddl-lock-queue",
        sicken=queue_behind_ddl,
        near_miss=wait_alone,
        names=("public.orders", "migration", "report", "web", "AccessExclusiveLock"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="table-locked-by-ddl",
        sicken=build_an_index_and_write,
        near_miss=build_it_concurrently_and_write,
        names=("public.orders", "migration", "web"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="blocked-by-idle-session",
        sicken=wait_for_an_idle_session,
        near_miss=wait_for_one_that_works,
        names=("clerk", "web"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="row-lock-queue",
        sicken=queue_for_a_row,
        near_miss=write_rows_of_their_own,
        names=("public.counters", "update counters"),
        treat=switch,
        majors=("13", "18"),
    ),
    Illness(
        pathology="advisory-lock-queue",
        sicken=queue_for_an_advisory_lock,
        near_miss=take_locks_of_their_own,
        names=("advisory lock 42", "pg_advisory_xact_lock"),
        treat=switch,
        majors=("13", "18"),
    ),
    Illness(
        pathology="explicit-table-lock",
        sicken=queue_for_a_table,
        near_miss=lock_rows_alone,
        names=("public.counters", "lock table counters"),
        treat=switch,
        majors=("13", "18"),
    ),
    Illness(
        pathology="deadlocks",
        sicken=deadlock,
        near_miss=lock_in_one_order,
        names=("database postgres", "deadlock_timeout 50ms"),
        settings={"deadlock_timeout": "50ms"},
        beside={
            "row-lock-queue": "sessions wait until the deadlock is found",
            "transactions-rolled-back": "each deadlock rolls one back",
        },
        treat=order_the_locks,
    ),
    Illness(
        pathology="transactions-rolled-back",
        sicken=fail,
        near_miss=roll_back_on_purpose,
        names=("database postgres", "rolled back after an error 150"),
        treat=fail_no_more,
        majors=("13", "18"),
    ),
    Illness(
        pathology="subtransaction-overflow",
        sicken=nest_deeply,
        near_miss=nest_a_little,
        names=("importer", "subtransactions 64 and more"),
    ),
    Illness(
        pathology="multixact-members",
        sicken=share_parents,
        near_miss=insert_children_one_after_the_other,
        names=("public.parents", "children_parent_id_fkey"),
        treat=drop_the_key,
        majors=("13", "18"),
    ),
    Illness(
        pathology="slru-misses",
        sicken=lambda sick: catch_up(sick, 300),
        near_miss=lambda near: catch_up(near, 8),
        names=("notify cache", "notify_buffers"),
    ),
    Illness(
        pathology="lock-table-nearly-full",
        sicken=lambda sick: keep(sick, lock_keys(450)),
        near_miss=lambda near: keep(near, lock_keys(200)),
        names=("importer", "max_locks_per_transaction"),
        settings={"max_locks_per_transaction": "10", "max_connections": "20"},
    ),
    Illness(
        pathology="fast-path-locks-exhausted",
        sicken=lambda sick: read_partitions(sick, 100),
        near_miss=lambda near: read_partitions(near, 10),
        names=("max_locks_per_transaction", "relations locked at a time 10"),
        beside={
            "partitions-unpruned": "reading them all is what takes the locks",
            "partitions-too-many": "there are a hundred for no rows",
        },
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
