"""Snapshots of real servers of every branch: what is in them, for whom, and that they wait for nothing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import binaries_for, cli
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.store.document import read_document
from pgclinic.trial.condition import conditions

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "max_prepared_transactions": "2",
    "wal_level": "logical",
    "track_functions": "all",
    "archive_command": "PGPASSWORD=bee5wax archive %p",
}
APPLICATION = """
create extension pg_stat_statements;
create table customer (id bigint generated always as identity primary key, name text, city text, email text);
create table "odd ""name" (id serial primary key, customer_id bigint not null references customer, note text);
create index on customer (city);
create index customer_again on customer (city) include (name);
create index on customer (lower(email)) where city is not null;
create statistics pairs (dependencies) on name, city from customer;
create table measured (day date, value int) partition by range (day);
create table measured_1 partition of measured for values from ('2026-01-01') to ('2026-02-01');
create materialized view summary as select count(*) from customer;
create function stamp() returns trigger language plpgsql as 'begin return new; end';
create trigger stamped before insert or update on customer for each row execute function stamp();
insert into customer (name, city, email)
    select 'name ' || n, 'city ' || n % 7, n || '@example.org' from generate_series(1, 1000) n;
insert into "odd ""name" (customer_id, note) select id, 'x' from customer;
alter role postgres set work_mem = '5MB';
alter role postgres set app.secret_word = 'bee5wax';
analyze;
update customer set city = 'moved' where id <= 10;
delete from "odd ""name" where id = 1;
set application_name to 'set with a constant bee5wax';
"""


@contextmanager
def application(binaries: Binaries, **settings: str) -> Iterator[Access]:
    with start_server(binaries, settings=SETTINGS | settings) as running:
        access = Access(running.server)
        with asking(access) as session:
            session.execute(APPLICATION)
        # Statistics of a session that has ended are there at once.
        yield access


def asking(access: Access) -> Session:
    return Session(access, statement_timeout_ms=30_000, application_name="test", users_search_path=True)


def role(access: Access, name: str, *statements: str) -> Access:
    """The same server for a new role that may do what ``statements`` grant it."""
    with asking(access) as session:
        session.execute(f"create role {name} login")
        for statement in statements:
            session.execute(statement)
    return replace(access, server=msgspec.structs.replace(access.server, user=name))


def gaps(snapshot: Snapshot) -> set[str]:
    """Names of what was not read, but for what this version does not have."""
    return {gap.what for gap in snapshot.gaps if not gap.problem.startswith("PostgreSQL ")}


def test_a_snapshot_has_everything(every_binaries: Binaries) -> None:
    with application(every_binaries) as access:
        taken = take_snapshot(access)
    assert not gaps(taken)
    assert taken.server.version_num == every_binaries.parsed.number
    tables = {table.qualified: table for table in taken.tables}
    customer = tables["public.customer"]
    assert (customer.rows, customer.columns) == (1000, 4)
    assert customer.bytes
    assert customer.bytes >= 8192 * customer.pages
    assert tables['public.odd "name'].bytes
    assert tables["public.measured"].kind == "p"
    assert tables["public.measured_1"].parent_oid == tables["public.measured"].oid
    assert tables["public.summary"].kind == "m"
    assert "pg_catalog.pg_class" in tables
    indexes = {index.name: index for index in taken.indexes if index.table_oid == customer.oid}
    assert indexes["customer_again"].columns == ("city",)
    assert indexes["customer_again"].included == ("name",)
    assert indexes["customer_pkey"].is_primary
    assert indexes["customer_lower_idx"].expressions == "lower(email)"
    assert indexes["customer_lower_idx"].predicate == "(city IS NOT NULL)"
    assert (indexes["customer_again"].definition or "").endswith("USING btree (city) INCLUDE (name)")
    (key,) = (key for key in taken.foreign_keys if key.parent_oid == customer.oid)
    assert (key.columns, key.parent_columns) == (("customer_id",), ("id",))
    assert (key.types, key.parent_types) == (("bigint",), ("bigint",))
    (sequence,) = (one for one in taken.sequences if one.name == "odd name_id_seq" or "odd" in one.name)
    assert (sequence.last_value, sequence.column, sequence.column_type) == (1000, "id", "integer")
    assert [trigger.name for trigger in taken.triggers] == ["stamped"]
    assert [(one.name, one.columns) for one in taken.extended_statistics] == [("pairs", ("name", "city"))]
    cities = next(column for column in taken.columns if (column.table, column.column) == ("customer", "city"))
    assert cities.distinct_values == 7
    settings = {setting.name: setting for setting in taken.settings}
    assert settings["wal_level"].value == "logical"
    assert settings["wal_level"].file is not None
    assert ("work_mem", "5MB") in {(one.name, one.value) for one in taken.role_settings}
    counters = {one.oid: one for one in taken.counters.tables}[customer.oid]
    assert (counters.inserted, counters.updated) == (1000, 10)
    assert taken.counters.databases
    assert taken.counters.checkpoints
    assert any("insert into customer" in text.text for text in taken.statement_texts)
    assert {statement.query_id for statement in taken.counters.statements} <= {
        text.query_id for text in taken.statement_texts
    }
    assert taken.samples.of("activity")
    assert {"pg_stat_statements", "plpgsql"} == {extension.name for extension in taken.extensions}


def test_no_secret_and_no_constant_of_a_statement_is_in_a_snapshot(every_binaries: Binaries) -> None:
    with application(every_binaries) as access, asking(access) as session:
        session.execute("alter role postgres password 'bee5wax'")
        session.execute("begin; select 'bee5wax', 4711.25, pg_current_xact_id()")
        taken = take_snapshot(access)
    text = msgspec.json.encode(taken).decode()
    assert "bee5wax" not in text
    assert "4711.25" not in text
    assert "app.secret_word" in text
    assert any("password ?" in one.text for one in taken.statement_texts)


def test_a_role_without_rights_gets_a_useful_part(every_binaries: Binaries) -> None:
    with application(every_binaries) as access:
        taken = take_snapshot(role(access, "nobody"))
        monitor = take_snapshot(role(access, "watcher", "grant pg_monitor to watcher"))
    assert {"sessions", "settings", "columns", "counters.statements"} <= gaps(taken)
    grants = {gap.what: gap.grant for gap in taken.gaps}
    assert grants["sessions"] == "grant pg_read_all_stats to nobody"
    assert {"public.customer", 'public.odd "name'} <= {table.qualified for table in taken.tables}
    assert taken.counters.tables
    assert taken.settings
    assert gaps(monitor) <= {"columns", "file_settings", "sequences", "shared_memory", "own_memory"}
    assert {gap.what: gap.tables for gap in monitor.gaps}["columns"]


def test_what_a_gap_asks_for_closes_it(every_binaries: Binaries) -> None:
    with application(every_binaries) as access:
        poor = role(access, '"Poor one"')
        poor = replace(access, server=msgspec.structs.replace(access.server, user="Poor one"))
        before = take_snapshot(poor)
        with asking(access) as session:
            for gap in before.gaps:
                if gap.grant is not None and "on the tables" not in gap.grant:
                    session.execute(gap.grant)
        after = take_snapshot(poor)
    left = {"columns", "sequences"} if access.major < 14 else {"sequences"}
    assert gaps(after) <= left


def test_nothing_waits_for_a_lock_and_what_is_locked_is_named(every_binaries: Binaries) -> None:
    with (
        application(every_binaries) as access,
        asking(access) as owner,
        asking(access) as queued,
    ):
        owner.execute("begin; lock table customer in access exclusive mode")
        waiting = threading.Thread(target=lambda: queued.execute("alter table customer add column later int"))
        waiting.start()
        wait_for_lock(access)
        began_s = time.monotonic()
        taken = take_snapshot(access)
        took_s = time.monotonic() - began_s
        owner.execute("rollback")
        waiting.join(timeout=30)
    assert not waiting.is_alive()
    assert gaps(taken) == {"sizes"}
    (gap,) = (gap for gap in taken.gaps if gap.what == "sizes")
    assert gap.problem == "locked"
    assert gap.tables == ("public.customer",)
    tables = {table.qualified: table for table in taken.tables}
    assert tables["public.customer"].bytes is None
    assert tables['public.odd "name'].bytes
    waiters = [session for session in taken.sessions if session.wait_event_type == "Lock"]
    assert [waiter.query for waiter in waiters] == ["alter table customer add column later int"]
    assert len(waiters[0].blocked_by) == 1
    assert any(not lock.granted and lock.relation == "customer" for lock in taken.locks) or any(
        not lock.granted and lock.relation == "public.customer" for lock in taken.locks
    )
    # Not one query waited for its lock_timeout.
    assert max(taken.query_s.values()) < took_s
    assert not any("lock timeout" in gap.problem for gap in taken.gaps)


def wait_for_lock(access: Access) -> None:
    with asking(access) as session:
        for _ in range(200):
            if session.rows("select from pg_locks where not granted"):
                return
            time.sleep(0.05)
    pytest.fail("nobody waits")


@pytest.mark.parametrize("holder", list(Holder))
def test_whoever_holds_the_horizon_is_seen(every_binaries: Binaries, holder: Holder) -> None:
    with (
        start_server(every_binaries, settings=SETTINGS) as running,
        conditions(access := Access(running.server), Condition(horizon_held_by=holder)),
        asking(access) as session,
    ):
        for _ in range(5):
            session.execute("select txid_current()")
        taken = take_snapshot(access)
    kinds = {
        Holder.SESSION: "session",
        Holder.QUERY: "query",
        Holder.PREPARED_TRANSACTION: "prepared",
        Holder.PHYSICAL_SLOT: "slot",
        Holder.LOGICAL_SLOT: "slot",
    }
    (held,) = (one for one in taken.horizon if one.kind == kinds[holder])
    age = held.catalog_xmin_age if holder is Holder.LOGICAL_SLOT else held.xmin_age
    assert age is not None
    assert age >= 5
    assert held.is_here
    assert bool(taken.slots) is (holder in (Holder.PHYSICAL_SLOT, Holder.LOGICAL_SLOT))
    assert bool(taken.prepared_transactions) is (holder is Holder.PREPARED_TRANSACTION)


def test_a_view_that_fails_leaves_a_gap_of_its_name(binaries: Binaries) -> None:
    with application(binaries) as access:
        poor = role(access, "poor", "grant pg_monitor to poor", "revoke select on pg_stat_slru from public")
        taken = take_snapshot(poor)
    (gap,) = (gap for gap in taken.gaps if gap.what == "counters.slru")
    assert "permission denied" in gap.problem
    assert taken.counters.io
    assert not taken.counters.slru


def test_an_observation_gives_rates(binaries: Binaries) -> None:
    with application(binaries) as access, asking(access) as session:
        stop = threading.Event()

        def work() -> None:
            while not stop.wait(0.01):
                session.execute("insert into customer (name) values ('more')")

        worker = threading.Thread(target=work)
        worker.start()
        taken = take_snapshot(access, observe_s=2.5)
        stop.set()
        worker.join()
    assert taken.counters_before is not None
    before = {one.oid: one for one in taken.counters_before.tables}
    grown = [one.oid for one in taken.counters.tables if one.oid in before and one.inserted > before[one.oid].inserted]
    customer = next(table.oid for table in taken.tables if table.name == "customer")
    assert customer in grown
    assert len(taken.samples.of("activity")) >= 5


def test_without_the_extension_statements_are_a_gap_with_a_remedy(binaries: Binaries) -> None:
    with start_server(binaries, settings={}) as running:
        taken = take_snapshot(Access(running.server))
    assert {gap.what: gap.grant for gap in taken.gaps}["counters.statements"] == "create extension pg_stat_statements"


def test_an_older_extension_is_read_with_its_own_columns() -> None:
    with start_server(binaries_for("18"), settings=SETTINGS) as running, asking(Access(running.server)) as session:
        session.execute("create extension pg_stat_statements version '1.8'")
        taken = take_snapshot(Access(running.server))
        assert taken.counters.statements
        grants = {gap.what: gap.grant for gap in taken.gaps}
        assert grants == {"counters.statements_info": "alter extension pg_stat_statements update"}


@pytest.mark.parametrize(("encoding", "shown"), [("latin1", "caf\u00e9"), ("sql_ascii", "caf\ufffd")])
def test_names_in_any_encoding_are_read(binaries: Binaries, encoding: str, shown: str) -> None:
    """A database without an encoding may have any bytes for a name."""
    with start_server(binaries, settings={}) as running, asking(Access(running.server)) as session:
        session.execute(f"create database other encoding '{encoding}' locale 'C' template template0")
        there = Access(msgspec.structs.replace(running.server, database="other"))
        with asking(there) as inside:
            inside.execute("set client_encoding to latin1")
            inside.execute('create table "caf\u00e9" (id int)')
        taken = take_snapshot(there)
    assert not gaps(taken) - {"counters.statements", "counters.statements_info", "statement_texts"}
    assert any(table.name == shown for table in taken.tables)


def test_the_command_writes_a_file_that_reads_back(binaries: Binaries, tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    with application(binaries) as access:
        dsn = dsn_of(access.server)
        done = cli("capture", "snapshot", dsn, "-o", str(file))
        again = cli("capture", "snapshot", dsn, "-o", str(file))
        forced = cli("capture", "snapshot", dsn, "-o", str(file), "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert "snapshot of postgres, PostgreSQL 18" in done.stdout
    assert (again.returncode, forced.returncode) == (1, 0)
    assert "exists already" in again.stderr
    taken = read_document(file, Snapshot, "a snapshot")
    assert msgspec.json.decode(forced.stdout.encode(), type=Snapshot) == taken
    assert os.access(file, os.R_OK)
