"""Statements as pg_stat_statements keeps them become statements with typed places."""

from __future__ import annotations

import pytest

from pgclinic.errors import UsageError
from pgclinic.sql.known_functions import known_function
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_kind import StatementKind, known_statement
from pgclinic.sql.statement_places import PlaceUse
from pgclinic.sql.typed_statement import typed_statement


def table(name: str, **columns: str) -> KnownTable:
    elements = {one: type_[:-2] if type_.endswith("[]") else None for one, type_ in columns.items()}
    return KnownTable(f"public.{name}", {one: KnownColumn(one, type_, elements[one]) for one, type_ in columns.items()})


SCHEMA = KnownSchema(
    {
        ("public", one.name.split(".")[1]): one
        for one in (
            table("customer", id="bigint", email="text", country="character", born="date", tags="text[]", data="jsonb"),
            table("orders", id="bigint", customer_id="bigint", placed="timestamp with time zone", total="numeric"),
        )
    }
)


def places(text: str) -> list[tuple[str, str | None, str | None]]:
    return [(place.use.value, place.type, place.expression) for place in typed_statement(text, SCHEMA).places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from customer where id = $1", [("equal", "bigint", "customer.id")]),
        ("select * from customer c where $1 < c.id", [("low", "bigint", "c.id")]),
        (
            "select * from orders where placed > now() - interval $1",
            [("low", "timestamp with time zone", "orders.placed")],
        ),
        (
            "select * from orders where placed between $1 and $2 + $3",
            [
                ("low", "timestamp with time zone", "orders.placed"),
                ("high", "timestamp with time zone", "orders.placed"),
            ],
        ),
        ("select * from customer where lower(email) = lower($1)", [("equal", None, "lower(customer.email)")]),
        ("select * from customer where email like $1 || $2", [("pattern", "text", "customer.email")]),
        ("select * from customer where id in ($1, $2)", [("one_of", "bigint", "customer.id")] * 2),
        ("select * from customer where id = any ($1)", [("array", "bigint[]", "customer.id")]),
        ("select * from customer where $1 = any (tags)", [("element", "text", "customer.tags")]),
        ("select * from customer where data @> $1", [("contains", None, "customer.data")]),
        (
            "select id from customer order by born limit $1 offset $2",
            [("limit", "bigint", None), ("offset", "bigint", None)],
        ),
        (
            "update orders set total = total + $1 where id = $2",
            [("equal", "bigint", "orders.id"), ("delta", "numeric", "orders.total")],
        ),
        (
            "update orders set total = $1 where id = $2",
            [("assign", "numeric", '"orders"."total"'), ("equal", "bigint", "orders.id")],
        ),
        (
            "insert into orders (id) select n from generate_series($1, $2) as n",
            [("other", "integer", None), ("limit", "integer", None)],
        ),
        (
            "select count(*) from generate_series($1, $2, $3)",
            [("other", "integer", None), ("limit", "integer", None), ("other", "integer", None)],
        ),
        (
            "select d from generate_series($1::date, now(), $2) as d",
            [("other", "date", None), ("other", None, None)],
        ),
        (
            "delete from orders where (id, customer_id) = ($1, $2)",
            [("equal", "bigint", "orders.id"), ("equal", "bigint", "orders.customer_id")],
        ),
    ],
)
def test_places_have_the_type_of_what_they_are_compared_with(
    text: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    assert sorted(places(text), key=str) == sorted(expected, key=str)


def test_inserted_values_belong_to_columns() -> None:
    typed = typed_statement(
        "insert into orders (customer_id, placed, total) values ($1, now(), $2), ($3, $4, $5)", SCHEMA
    )
    assert [(place.column, place.row, place.use) for place in typed.places] == [
        ("customer_id", 0, PlaceUse.INSERT),
        ("total", 0, PlaceUse.INSERT),
        ("customer_id", 1, PlaceUse.INSERT),
        ("placed", 1, PlaceUse.INSERT),
        ("total", 1, PlaceUse.INSERT),
    ]
    assert (typed.verb, typed.target) == ("insert", "public.orders")


def test_conditions_without_values_are_kept_for_the_draw() -> None:
    typed = typed_statement(
        "select o.id from orders o join customer c on c.id = o.customer_id"
        " where c.born is not null and c.email = $1 and o.total > $2",
        SCHEMA,
    )
    assert [join.sources for join in typed.joins] == [(0, 1)]
    assert [source.filters for source in typed.sources] == [(), ("c.born IS NOT NULL",)]
    assert {place.expression: place.source for place in typed.places} == {"c.email": 1, "o.total": 0}


def test_the_key_of_a_document_and_its_value_depend_on_each_other() -> None:
    key, value = typed_statement("select 1 from customer where data ->> $1 = $2", SCHEMA).places
    assert (key.use, value.use, value.source) == (PlaceUse.KEY, PlaceUse.EQUAL, 0)
    assert f"${key.number}" in str(value.expression)


def test_one_parameter_of_the_application_is_one_place() -> None:
    typed = typed_statement("select id from customer where ($1::text is null or email = $1) and id > $2", SCHEMA)
    assert [place.use for place in typed.places] == [PlaceUse.EQUAL, PlaceUse.LOW]


def test_a_column_of_a_query_in_from_leads_to_its_table() -> None:
    recent = "select id, customer_id from orders where placed > $1"
    text = f"with recent as ({recent}) select * from recent r where r.customer_id = $2"
    assert places(text) == [
        ("low", "timestamp with time zone", "orders.placed"),
        ("equal", "bigint", "orders.customer_id"),
    ]


def test_a_shortened_list_is_a_list() -> None:
    (place,) = typed_statement("select * from customer where id in ($1 /*, ... */)", SCHEMA).places
    assert place.is_list


def test_what_the_schema_does_not_have_is_named() -> None:
    assert typed_statement("select * from elsewhere.thing where id = $1", SCHEMA).unknown_relations == (
        "elsewhere.thing",
    )


def test_a_text_that_was_cut_off_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be parsed"):
        typed_statement("select * from customer where", SCHEMA)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select 1", StatementKind.SELECT),
        ("BEGIN", StatementKind.BEGIN),
        ("start transaction isolation level serializable", StatementKind.BEGIN),
        ("END", StatementKind.COMMIT),
        ("vacuum", StatementKind.UTILITY),
        ("select * from pg_catalog.pg_class", StatementKind.OWN),
        ("select calls from pg_stat_statements", StatementKind.OWN),
        ("select pg_catalog.set_config($1, $2, $3)", StatementKind.OWN),
        (
            'SELECT $2 FROM ONLY "public"."a" x WHERE "id" OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF x',
            StatementKind.CHECK,
        ),
        ("select from where", StatementKind.UNKNOWN),
    ],
)
def test_what_a_statement_is(text: str, kind: StatementKind) -> None:
    assert known_statement(text).kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "alter role shop password 'secret'",
        "select * from customer where email = 'secret'",
        "select * from customer where email = 'secret",
        "copy customer from '/srv/secret'",
        "create table secret (a int)",
    ],
)
def test_no_constant_is_left_in_a_text(text: str) -> None:
    assert "secret" not in known_statement(text).text


def test_positions_in_order_by_are_no_values() -> None:
    text = known_statement("select country, count(*) from customer group by 1 order by 2").text
    assert not typed_statement(text, SCHEMA).places


def test_the_path_of_a_document_and_what_is_set_there_depend_on_each_other() -> None:
    path, member, _ = typed_statement("update customer set data = jsonb_set(data, $1, $2) where id = $3", SCHEMA).places
    assert (path.use, path.column, member.use) == (PlaceUse.PATH, "data", PlaceUse.MEMBER)
    assert member.expression == f'"customer"."data" #> ${path.number}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from customer where data ? $1", [("key", None, "customer.data")]),
        (
            "select * from customer where data #>> $1 = $2",
            [("path", None, "customer.data"), ("equal", None, "customer.data #>> $1")],
        ),
        (
            "update customer set data = data - $1, tags = tags || $2",
            [("key", None, "customer.data"), ("part", "text[]", "customer.tags")],
        ),
        ("update customer set tags = array_remove(tags, $1)", [("member", None, '"customer"."tags"')]),
        ("update customer set tags = array_prepend($1, tags)", [("member", None, '"customer"."tags"')]),
        ("update orders set total = greatest(total, $1)", [("bound", "numeric", "orders.total")]),
        (
            "update orders set total = least(total - $1, $2)",
            [("delta", "numeric", "orders.total"), ("bound", None, "orders.total")],
        ),
        ("select greatest(date $1 + $2, now())", [("bound", "date", None)]),
    ],
)
def test_parts_of_a_value_and_its_bounds(text: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    assert places(text) == expected


MADE = (
    "create function touch(who bigint, word text default 'x') returns int language sql"
    " as 'update customer set email = lower(word) where id = who'",
    "create function public.age_on(born date, day date) returns int language sql as 'select 1'",
    "create function of_all(one bigint) returns int language sql as 'select touch(one), of_all(one)'",
    "create function two(x int) returns int language sql as 'select 1'",
    "create function two(x text) returns int language sql as 'select 1'",
)
WITH_FUNCTIONS = KnownSchema(
    {("public", name): table for name in ("customer", "orders") if (table := SCHEMA.find(None, name)) is not None},
    functions=[found for one in MADE if (found := known_function(one)) is not None],
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select touch($1, $2)", [("equal", "bigint", "id"), ("assign", "text", "email")]),
        ("select touch(word => $1, who => $2)", [("assign", "text", "email"), ("equal", "bigint", "id")]),
        ("select of_all($1)", [("equal", "bigint", "id")]),
        ("select age_on(born, $1) from customer", [("other", "date", None)]),
        ("select age_on(born, timestamp $1) from customer", [("other", "timestamp", None)]),
        # Which of them is meant the server has to find out.
        ("select two($1)", [("other", None, None)]),
        ("select unknown($1)", [("other", None, None)]),
    ],
)
def test_arguments_are_what_the_body_of_a_function_does_with_them(
    text: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    found = typed_statement(text, WITH_FUNCTIONS).places
    assert [(one.use.value, one.type, one.column) for one in found] == expected


def test_tables_behind_a_function_are_those_of_the_statement() -> None:
    typed = typed_statement("select touch($1)", WITH_FUNCTIONS)
    assert typed.tables == ("public.customer",)
    assert typed.unknown_relations == ()


def test_what_rows_of_an_insert_are_made_of() -> None:
    typed = typed_statement(
        "insert into orders (id, customer_id, total, placed) select row_number() over (), c.id, $1, now()"
        " from customer as c where c.email = $2 on conflict do nothing",
        SCHEMA,
    )
    assert [(one.column, one.expression) for one in typed.filled] == [
        ("id", None),
        ("customer_id", "c.id"),
        ("placed", None),
    ]
    (source,) = {one.source for one in typed.filled if one.expression}
    assert typed.sources[source or 0].alias == "c"
    assert typed.conflict == "nothing"
    assert [place.column for place in typed.places if place.use is PlaceUse.INSERT] == ["total"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "insert into orders (total) values ($1) returning id, customer_id as who",
            [("id", "id"), ("who", "customer_id")],
        ),
        ("select c.id, lower(email) from customer as c", [("id", "id")]),
        ("select id, case when total > 0 then 1 else total end from orders", [("id", "id")]),
        # A client cannot take a column that has no name, and so none of them.
        ("select id, total + 1 from orders", []),
        ('select id as "the id" from orders', []),
        ("update orders set total = 1 where id = $1", []),
    ],
)
def test_columns_of_the_result_are_known_by_their_names(text: str, expected: list[tuple[str, str]]) -> None:
    returned = typed_statement(text, SCHEMA).returned
    assert [(one.name, one.column) for one in returned] == expected
    assert {one.is_made for one in returned} <= {text.startswith("insert")}


def test_mentions_of_one_name_are_kept_apart() -> None:
    typed = typed_statement(
        "select 1 from orders as o where exists (select from customer as o where o.id = $1)", SCHEMA
    )
    assert [(source.table, source.alias) for source in typed.sources] == [
        ("public.orders", "o"),
        ("public.customer", "o_1"),
    ]
    assert [place.expression for place in typed.places] == ["o_1.id"]


def test_constants_that_were_computed_with_are_no_value_that_the_application_knew() -> None:
    typed = typed_statement("select 1 from orders where total > $1 - $2 and id = $3", SCHEMA)
    assert {place.column: place.is_computed for place in typed.places} == {"total": True, "id": False}
