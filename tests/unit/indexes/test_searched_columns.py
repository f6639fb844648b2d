"""By which columns statements look for rows."""

from __future__ import annotations

from pgclinic.indexes.searched_columns import SearchedColumns, searched_columns
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.typed_statement import typed_statement

COLUMNS = {
    name: KnownColumn(name, type_)
    for name, type_ in (("id", "bigint"), ("customer", "bigint"), ("email", "text"), ("at", "date"), ("doc", "jsonb"))
}
SCHEMA = KnownSchema({("public", name): KnownTable(f"public.{name}", COLUMNS) for name in ("orders", "line")})


def searched(text: str, source: int = 0) -> SearchedColumns:
    return searched_columns(typed_statement(text, SCHEMA), source)


def test_columns_by_how_they_are_searched() -> None:
    found = searched("select id from orders where customer = $1 and at > $2 and doc @> $3 order by at limit $4")
    assert (found.equal, found.ranges, found.contained) == (("customer",), ("at",), ("doc",))
    assert found.ordered == ("at",)
    assert found.is_limited


def test_an_expression_is_that_of_the_statement_without_its_alias() -> None:
    assert searched("select id from orders o where lower(o.email) = $1").expressions == ("lower(email)",)


def test_a_join_leads_to_the_other_table() -> None:
    text = "select l.id from orders o join line l on l.customer = o.id where o.email = $1"
    assert searched(text, 1).joined == ("customer",)
    assert searched(text, 0).joined == ()
