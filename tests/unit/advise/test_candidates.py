"""Which indexes the statements of a twin could use."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.advised import calibrated_of, twin_of
from pgclinic.advise.candidates import CANDIDATES_MAX, Candidate, candidates
from pgclinic.indexes.definition import create_statement
from pgclinic.model.query_plan import PlanNode
from pgclinic.model.twin import Mask, MaskMethod, ObjectKind, SchemaObject, Twin, TwinIndex


def found(twin: Twin, **choice: object) -> tuple[Candidate, ...]:
    return candidates(twin, calibrated_of(twin, **choice), lambda _table, _predicate: 0.1)


def on(twin: Twin, **choice: object) -> list[str]:
    """What stands behind the name of the table."""
    texts = [create_statement(one.definition, concurrently=False) for one in found(twin, **choice)]
    return [text.partition(" on public.")[2] for text in texts]


def test_equality_comes_first_and_what_finds_the_fewest_rows_in_front() -> None:
    keys = on(twin_of("select id from orders where status = $1 and customer = $2 and at > $3"))
    assert "orders (customer, status, at)" in keys
    assert "orders (customer, status)" in keys
    assert "orders (customer)" in keys
    assert not [one for one in keys if one.startswith("orders (at, customer")]


def test_an_order_with_a_limit_follows_the_columns_of_equality() -> None:
    keys = on(twin_of("select id from orders where customer = $1 order by at desc limit $2"))
    assert "orders (customer, at)" in keys


def test_columns_that_the_statement_mentions_are_included() -> None:
    keys = on(twin_of("select note from orders where customer = $1"))
    assert "orders (customer) include (note)" in keys
    assert not any("include" in one for one in on(twin_of("select * from orders where customer = $1")))


def test_a_condition_of_few_rows_makes_a_partial_index() -> None:
    twin = twin_of("select id from orders where customer = $1 and note is null")
    assert "orders (customer) where note IS NULL" in on(twin)
    none = candidates(twin, calibrated_of(twin), lambda _table, _predicate: 0.5)
    assert not any(one.definition.predicate for one in none)


def test_a_constant_makes_a_partial_index_unless_the_twin_has_masked_it() -> None:
    twin = twin_of("select id from orders where customer = $1 and status = $2")
    constants = ((2, "5"),)
    assert "orders (customer) where status = '5'" in on(twin, constants=constants)
    mask = Mask(table="public.orders", column="status", method=MaskMethod.MONOTONE)
    assert not any("where" in one for one in on(replace(twin, masks=(mask,)), constants=constants))


def test_an_expression_is_indexed_as_the_statement_writes_it() -> None:
    assert "orders ((lower(note)))" in on(twin_of("select id from orders o where lower(o.note) = $1"))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("doc @> $1", "orders using gin (doc jsonb_path_ops)"),
        ("doc @> $1", "orders using gin (doc)"),
        ("tags && $1", "orders using gin (tags)"),
        ("to_tsvector('simple', note) @@ to_tsquery($1)", "orders using gin ((to_tsvector('simple', note)))"),
        ("note like $1", "orders (note text_pattern_ops)"),
        ("at > $1", "orders using brin (at)"),
    ],
)
def test_other_methods(condition: str, expected: str) -> None:
    assert expected in on(twin_of(f"select id from orders where {condition}"))


def test_trigrams_need_their_extension() -> None:
    twin = twin_of("select id from orders where note like $1")
    trigrams = SchemaObject(kind=ObjectKind.EXTENSION, name="extension pg_trgm", statement="create extension pg_trgm")
    assert not any("gin_trgm_ops" in one for one in on(twin))
    assert "orders using gin (note gin_trgm_ops)" in on(replace(twin, objects=(trigrams,)))


def test_a_foreign_key_whose_parents_are_deleted() -> None:
    twin = twin_of("delete from orders where id = $1")
    assert "line (order_id)" in on(twin)
    assert [one.is_referencing for one in found(twin)] == [True]
    assert on(twin_of("select item from line where item = $1")) == ["line (item)"]


def test_a_join_leads_to_the_other_table() -> None:
    text = "select l.item from orders o join line l on l.order_id = o.id where o.customer = $1"
    assert "line (order_id)" in on(twin_of(text))


def test_two_statements_share_an_index_of_which_one_needs_the_first_columns() -> None:
    twin = twin_of("select id from orders where customer = $1", "select id from orders where customer = $1 and at = $2")
    both = next(one for one in found(twin) if one.definition.keys == ("customer",))
    assert both.query_ids == (1, 2)
    assert both.time_share == pytest.approx(1.0)


def test_what_is_there_is_no_candidate() -> None:
    there = TwinIndex(name="public.orders_customer_at_idx", method="btree", keys=("customer", "at"))
    made = "CREATE INDEX orders_customer_at_idx ON public.orders USING btree (customer, at DESC)"
    text = "select id from orders where customer = $1 order by at limit $2"
    keys = on(twin_of(text, indexes=(there,), statements=(made,)))
    assert "orders (customer)" not in keys
    assert "orders (customer, at)" not in keys
    assert on(twin_of("select id from orders where id = $1")) == []


def test_views_are_searched_as_their_plans_are() -> None:
    twin = twin_of("select id from orders_seen where customer = $1")
    seen = PlanNode(
        depth=0, kind="Seq Scan", rows_planned=1.0, relation="orders", alias="orders", condition="(customer = ?)"
    )
    keys = [one.definition.keys for one in candidates(twin, calibrated_of(twin), plans={1: (seen,)})]
    assert keys == [("customer",)]


def test_names_are_free_and_candidates_are_bounded() -> None:
    texts = [f"select id from orders where customer = $1 and at > $2 and id <> {n}" for n in range(40)]
    names = [one.definition.name for one in found(twin_of(*texts))]
    assert len(names) == len(set(names)) <= CANDIDATES_MAX
    assert "orders_pkey" not in names


def test_a_small_table_needs_no_index() -> None:
    twin = twin_of("select id from orders where customer = $1")
    small = replace(twin, tables=tuple(replace(one, pages=3, pages_now=3) for one in twin.tables))
    assert found(small) == ()
