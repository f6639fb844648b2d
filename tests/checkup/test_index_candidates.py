"""Which indexes could serve the statements that scan: seen on a real server, where the first ones are then created."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.schema.index_candidates import IndexCandidate, index_candidates

SCHEMA = (
    "create table orders (id bigint primary key, customer bigint not null, state text not null, placed timestamptz, "
    "note text, data jsonb)",
    "create table item (id bigint primary key, order_id bigint not null, sku text)",
    "create table tiny (id bigint primary key, customer bigint)",
    "insert into orders select n, n % 2000, (array['open', 'shipped'])[1 + n % 2], now() - n * interval '1 minute', "
    "repeat('x', 60) || n, jsonb_build_object('k', n) from generate_series(1, 20000) n",
    "insert into item select n, n / 2, 'sku' || n from generate_series(1, 20000) n",
    "insert into tiny select n, n from generate_series(1, 50) n",
    "analyze",
)
#: Statements with the keys of the best index for each; none where an index would not help.
STATEMENTS: dict[str, tuple[str, tuple[str, ...]] | None] = {
    "select * from orders where customer = 42": ("orders", ("customer",)),
    "select id from orders where customer = 42 and placed > now() - interval '1 day'": (
        "orders",
        ("customer", "placed"),
    ),
    "select note from orders where state = 'open' order by placed desc limit 10": ("orders", ("state", "placed")),
    "select o.note, i.sku from orders o join item i on i.order_id = o.id where o.id = 7": ("item", ("order_id",)),
    "select state from orders where lower(note) = 'x'": ("orders", ("(lower(note))",)),
    "select customer from orders where data @> '{\"k\": 7}'": ("orders", ("data",)),
    "update orders set state = 'open' where customer = 43 and state = 'none'": ("orders", ("customer", "state")),
    "select count(*) from orders where state = 'open'": None,
    "select placed from orders where id = 7": None,
    "select customer from tiny where customer = 7": None,
}
SCANS = 10


@pytest.fixture(scope="module")
def ill() -> Iterator[Patient]:
    with patient("18", {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA)
        made.sql("select pg_stat_statements_reset()", *(statement for statement in STATEMENTS for _ in range(SCANS)))
        made.until("select seq_scan > 50 from pg_stat_user_tables where relname = 'orders'")
        yield made


def case_of(ill: Patient) -> Case:
    return Case(take_snapshot(ill.access))


def candidates_of(case: Case, statement: str) -> list[IndexCandidate]:
    """Those for one of the statements above, which the server keeps with parameters."""
    words = re.split("[=>]", statement, maxsplit=1)[0].strip()
    ids = {text.query_id for text in case.snapshot.statement_texts if text.text.startswith(words)}
    assert ids, words
    return [candidate for candidate in index_candidates(case) if set(candidate.query_ids) & ids]


def test_each_statement_that_scans_has_its_index(ill: Patient) -> None:
    case = case_of(ill)
    for statement, expected in STATEMENTS.items():
        found = candidates_of(case, statement)
        keys = {(one.table.state.name, one.keys) for one in found}
        assert (expected in keys) if expected is not None else not keys, (statement, keys)


def test_a_candidate_can_be_created_and_taken_back_and_is_none_when_it_is_there(ill: Patient) -> None:
    found = next(candidate for candidate in index_candidates(case_of(ill)) if candidate.keys == ("customer",))
    treatment = found.treatment()
    assert treatment.sql == ("create index concurrently orders_customer_idx on public.orders (customer)",)
    ill.sql(*treatment.sql)
    after = index_candidates(case_of(ill))
    assert ("customer",) not in {one.keys for one in after if one.table.name == "public.orders"}
    ill.sql(*treatment.undo)
    again = index_candidates(case_of(ill))
    assert found.keys in {one.keys for one in again}


def test_names_are_free_and_no_longer_than_the_server_takes(ill: Patient) -> None:
    ill.sql("create table orders_customer_idx (x int)")
    try:
        found = index_candidates(case_of(ill))
    finally:
        ill.sql("drop table orders_customer_idx")
    names = [one.name for one in found]
    assert len(names) == len(set(names))
    assert "orders_customer_idx2" in names
    assert all(len(name.encode()) <= 63 for name in names)


def test_columns_of_a_table_without_statistics_are_those_of_the_statement(ill: Patient) -> None:
    ill.sql(
        "create table fresh (a bigint, b text)",
        "insert into fresh select n, repeat('y', 90) from generate_series(1, 5000) n",
    )
    # Of the time of all that this server has run these are far above one percent.
    ill.sql(*["select b from fresh where a = 7"] * 500)
    ill.until("select seq_scan >= 20 from pg_stat_user_tables where relname = 'fresh'")
    case = case_of(ill)
    assert not [column for column in case.snapshot.columns if column.table == "fresh"]
    assert [candidate.keys for candidate in index_candidates(case) if candidate.table.name == "public.fresh"] == [
        ("a",)
    ]
