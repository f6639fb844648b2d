"""What statements lock, on a real server: the manual's modes, for as long as the transaction lasts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.model.migration import MigrationStatement
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.whatif.migration_locks import measured_statements

TABLES = """
create table customers (id int primary key, name text);
create table orders (id int primary key, customer_id int, total int, note text);
insert into customers select i, 'c' || i from generate_series(1, 1000) i;
insert into orders select i, i % 1000 + 1, i, repeat('x', 50) from generate_series(1, 40000) i;
analyze customers, orders;
"""


@pytest.fixture(scope="module", params=["18", "13"])
def access(request: pytest.FixtureRequest) -> Iterator[Access]:
    with start_server(binaries_for(request.param), settings={}) as running:
        found = Access(running.server, running.secrets)
        yield found


@pytest.fixture(autouse=True)
def tables(access: Access) -> None:
    with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
        session.execute("drop table if exists orders, customers cascade")
        for statement in TABLES.strip().split("\n"):
            session.execute(statement)


def modes(statement: MigrationStatement) -> dict[str, str]:
    return {lock.relation: lock.mode for lock in statement.locks}


def test_each_statement_has_the_lock_that_the_manual_names(access: Access) -> None:
    texts = (
        "alter table orders add column paid bool;",
        "alter table orders alter column total type bigint;",
        "create index orders_customer on orders (customer_id);",
        "alter table orders add foreign key (customer_id) references customers;",
        "update orders set paid = true where id < 100;",
        "select count(*) from orders;",
        "create table invoices (id int primary key);",
    )
    add, rewrite, index, key, update, read, new = measured_statements(access, texts)
    assert [one.text for one in (add, rewrite, index, key, update, read, new)] == list(texts)
    assert modes(add) == {"public.orders": "AccessExclusiveLock"}
    assert add.rewritten == ()
    assert modes(rewrite)["public.orders"] == "AccessExclusiveLock"
    assert "public.orders" in rewrite.rewritten
    assert modes(index) == {"public.orders": "ShareLock"}
    assert modes(key) == {"public.orders": "ShareRowExclusiveLock", "public.customers": "ShareRowExclusiveLock"}
    assert modes(update) == {"public.orders": "RowExclusiveLock"}
    assert modes(read) == modes(new) == {}
    (lock,) = add.locks
    assert lock.rows == 40_000
    assert lock.held_s >= add.elapsed_s > 0
    assert [one.relation for one in rewrite.locks] == ["public.orders"]
    assert index.locks[0].rows == 40_000, "known from before, though the table was written anew"
    # It copies every row and makes the index of the key again.
    assert rewrite.locks[0].held_s > lock.held_s


def test_the_lock_of_an_index_is_named_where_its_table_is_locked_less(access: Access) -> None:
    (reindex,) = measured_statements(access, ("reindex index orders_pkey;",))
    assert modes(reindex) == {"public.orders": "ShareLock", "public.orders_pkey": "AccessExclusiveLock"}
    assert reindex.rewritten == ("public.orders_pkey",)


def test_what_cannot_run_in_a_transaction_is_watched(access: Access) -> None:
    texts = ("create index concurrently orders_total on orders (total, note);", "vacuum orders;")
    index, vacuum = measured_statements(access, texts)
    assert index.sampled
    assert vacuum.sampled
    assert modes(index) == {"public.orders": "ShareUpdateExclusiveLock"}
    assert index.locks[0].held_s <= index.elapsed_s


def test_locks_of_a_transaction_of_the_file_are_held_to_its_end(access: Access) -> None:
    texts = (
        "-- two changes in one\nbegin;",
        "alter table customers add column since date;",
        "select pg_sleep(0.4);",
        "alter table orders add column paid bool;",
        "commit;",
        "alter table customers drop column since;",
    )
    _, first, sleep, second, commit, last = measured_statements(access, texts)
    assert modes(first) == {"public.customers": "AccessExclusiveLock"}
    assert modes(second) == {"public.orders": "AccessExclusiveLock"}
    assert modes(sleep) == modes(commit) == {}
    assert first.locks[0].held_s > 0.4 > first.elapsed_s or first.elapsed_s > 0.4
    assert first.locks[0].held_s > second.locks[0].held_s
    assert modes(last) == {"public.customers": "AccessExclusiveLock"}


def test_a_file_that_does_not_commit_changes_nothing(access: Access) -> None:
    _, drop = measured_statements(access, ("begin;", "drop table orders;"))
    assert modes(drop)["public.orders"] == "AccessExclusiveLock"
    (again,) = measured_statements(access, ("truncate orders;",))
    assert modes(again)["public.orders"] == "AccessExclusiveLock"
    assert "public.orders" in again.rewritten


def test_a_statement_that_is_refused_is_an_error(access: Access) -> None:
    with pytest.raises(QueryError, match="no_such_table"):
        measured_statements(access, ("alter table no_such_table add column x int;",))
