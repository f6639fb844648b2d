"""An index that several statements miss, by a value and by a join: one finding with all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import Finding, SubjectKind

SCHEMA = (
    "create table orders (id bigint primary key, customer bigint not null, note text not null)",
    "create table item (id bigint primary key, order_id bigint not null, sku text not null)",
    "create table kind (id bigint primary key, name text not null)",
    "create table person (id bigint primary key, name text not null)",
    "insert into person select n, 'person' || n from generate_series(1, 2000) n",
    "insert into orders select n, n % 2000, repeat('x', 60) from generate_series(1, 20000) n",
    "create index on orders (customer)",
    "insert into item select n, 1 + n % 20000, 'sku' || n || repeat('x', 40) from generate_series(1, 40000) n",
    "insert into kind select n, 'kind' || n from generate_series(1, 30000) n",
    "analyze",
)
BY_VALUE = "select sku from item where order_id = 77"
#: The table's own key is in the join as well.
BY_JOIN = (
    "select o.id, max(i.sku) from orders o join item i on i.order_id = o.id left join kind k on k.id = i.id "
    "where o.customer = 42 group by o.id"
)
#: The value is two joins away.
BY_CHAIN = (
    "select p.name, i.sku from person p join orders o on o.customer = p.id join item i on i.order_id = o.id "
    "where p.id = 42"
)
#: The same from all persons.
CHAIN_OF_ALL = (
    "select count(*) from person p join orders o on o.customer = p.id join item i on i.order_id = o.id where p.id > 0"
)
#: Every order joins: an index would not help.
ALL = "select count(*) from orders o join item i on i.order_id = o.id where o.note = repeat('x', 60)"


@pytest.fixture(scope="module")
def sick() -> Iterator[Patient]:
    with patient("18", {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA)
        yield made


def missing(sick: Patient, *statements: str) -> list[Finding]:
    sick.sql("select pg_stat_statements_reset()", *(statement for statement in statements for _ in range(25)))
    sick.until("select sum(seq_scan) >= 25 from pg_stat_user_tables")
    checkup = examine(Case(take_snapshot(sick.access)), server="patient")
    return [
        finding for finding in checkup.findings if finding.pathology == "missing-index" and "item" in finding.subject
    ]


def test_all_statements_that_miss_it_are_named_with_their_whole_time(sick: Patient) -> None:
    (found,) = missing(sick, BY_VALUE, BY_JOIN)
    assert found.subject == "public.item (order_id)"
    named = [one.name for one in found.evidence if one.kind is SubjectKind.STATEMENT]
    assert len(named) == 2, named
    assert any("join item" in name for name in named)
    assert found.cost is not None
    assert found.cost.value > 0.5
    assert found.treatments[0].sql[0].endswith("on public.item (order_id)")


@pytest.mark.parametrize("statement", [BY_JOIN, BY_CHAIN])
def test_a_join_alone_is_found(sick: Patient, statement: str) -> None:
    (found,) = missing(sick, statement)
    assert found.subject == "public.item (order_id)"


@pytest.mark.parametrize("statement", [ALL, CHAIN_OF_ALL])
def test_a_join_of_all_rows_misses_no_index(sick: Patient, statement: str) -> None:
    assert missing(sick, statement) == []
