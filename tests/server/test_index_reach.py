"""Which statements an index can change, on a real server: by the catalog and the plan, with what no plan shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.pg.session import Access, Session
from pgclinic.whatif.explained import executed
from pgclinic.whatif.index_reach import IndexReach

SCHEMA = (
    "create table customer (id int primary key, name text)",
    "create table orders (id int primary key, customer int references customer on delete cascade, placed int)",
    "create table line (orders int references orders, item int)",
    "create table event (at int, what text) partition by range (at)",
    "create table event_1 partition of event for values from (0) to (100)",
    "create table apart (id int, note text)",
    "create view seen as select o.id, c.name from orders o join customer c on c.id = o.customer",
    "create function looks() returns bigint language plpgsql as 'begin return (select count(*) from orders); end'",
    "create table watched (id int)",
    "create function noted() returns trigger language plpgsql as 'begin perform count(*) from orders; return new; end'",
    "create trigger note before insert on watched for each row execute function noted()",
    "insert into customer select n, 'c' from generate_series(1, 100) n",
    "insert into orders select n, n, n from generate_series(1, 100) n",
)
READS_ORDERS = ("select * from orders where placed = 7", "select * from seen where id = 7", "select looks()")
WRITES_TIED = ("delete from customer where id = 7", "insert into line values (7, 1)", "insert into watched values (1)")
APART = ("select * from apart", "insert into apart values (1, 'x')", "select * from event where at = 5", "select 1")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with (
        start_server(binaries_for("18"), settings={}) as running,
        Session(
            Access(running.server), statement_timeout_ms=10_000, application_name="test", users_search_path=True
        ) as opened,
    ):
        for statement in SCHEMA:
            opened.execute(statement)
        yield opened


def reached(session: Session, change: str, texts: tuple[str, ...]) -> list[str]:
    """Those of the statements that the change can reach."""
    reach = IndexReach(session)
    session.execute("begin")
    try:
        seen = {text: executed(session, text) for text in texts}
        reach.look()
        session.execute(change)
        tables = reach.tables()
        return [
            text for text, one in seen.items() if reach.can_reach(tables, text, one.top, has_triggers=one.has_triggers)
        ]
    finally:
        session.execute("rollback")


@pytest.mark.parametrize(
    "change", ["create index on orders (placed)", "drop index orders_placed_idx", "create index on orders (customer)"]
)
def test_statements_of_the_table_and_of_what_is_tied_to_it_are_reached(session: Session, change: str) -> None:
    """A foreign key is looked up in both directions, triggers and functions may read anything."""
    session.execute("create index if not exists orders_placed_idx on orders (placed)")
    assert reached(session, change, (*READS_ORDERS, *WRITES_TIED, *APART)) == [*READS_ORDERS, *WRITES_TIED]


def test_an_index_of_a_partitioned_table_reaches_its_partitions(session: Session) -> None:
    texts = ("select * from event where at = 5", "select * from event_1", "select * from apart")
    assert reached(session, "create index on event (what)", texts) == list(texts[:2])
    assert reached(session, "create index on event_1 (what)", texts) == list(texts[:2])


def test_nothing_is_reached_where_no_index_comes_or_goes(session: Session) -> None:
    assert reached(session, "select 1", ("select * from orders", "select * from apart")) == []
