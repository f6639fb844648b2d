"""Functions in SQL: which a statement calls, what is kept of their bodies, and which belong to a statement."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.made_case import case, counted
from pgclinic.capture.sql_functions import FunctionRow, called
from pgclinic.checkup.function_bodies import bodies_called
from pgclinic.model.snapshot import SqlFunction
from pgclinic.sql.sql_function import functions_called, statements_of_body


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select total($1, 2), shop.today() from t", {("total", 2), ("today", 0)}),
        ("select * from found($1) f where f.x = (select lower(y) from t)", {("found", 1), ("lower", 1)}),
        ("insert into t values (a(b($1)))", {("a", 1), ("b", 1)}),
        ("select 1", set()),
        ("select cut of(", set()),
    ],
)
def test_a_statement_calls_functions(text: str, names: set[tuple[str, int]]) -> None:
    assert functions_called(text) == names


def test_a_body_keeps_no_constant_and_its_arguments_are_numbers() -> None:
    """Constants have the numbers behind those of the arguments."""
    body = "delete from u; select f.v from t f where f.k = wanted and f.s = 'secret' and f.n = $2 limit 5"
    assert statements_of_body(body, "look", 2, ("wanted", "")) == (
        "DELETE FROM u",
        "SELECT f.v FROM t f WHERE f.k = $1 AND f.s = $3 AND f.n = $2 LIMIT $4",
    )


def test_an_argument_may_be_named_by_its_function() -> None:
    (found,) = statements_of_body("select v from t where t.k = look.k and t.j = other.k", "look", 1, ("k",))
    assert "t.k = $1" in found
    assert "t.j = other.k" in found


@pytest.mark.parametrize(
    ("body", "statements"),
    [
        ("BEGIN ATOMIC\n SELECT v FROM t;\n DELETE FROM t;\nEND", ("SELECT v FROM t", "DELETE FROM t")),
        ("RETURN (k + 1)", ("SELECT $1 + $2",)),
        ("", ()),
        ("select v from t where", ()),
        ("alter role app password 'secret'; comment on table t is 'secret'; select 1", ("SELECT $2",)),
    ],
)
def test_bodies_of_standard_sql_are_read_and_others_are_none(body: str, statements: tuple[str, ...]) -> None:
    assert statements_of_body(body, "look", 1, ("k",)) == statements


def row(name: str, body: str, schema: str = "public", arguments: int = 1) -> FunctionRow:
    return FunctionRow(schema=schema, name=name, arguments=arguments, argument_names=("k",), body=body)


def test_functions_are_kept_as_far_as_statements_call_them() -> None:
    rows = (
        row("outer_one", "select inner_one(k)"),
        row("inner_one", "select outer_one(v) from t where t.k = inner_one.k"),
        row("unused", "select 1"),
        row("inner_one", "select 2", arguments=2),
    )
    assert [(one.name, one.arguments) for one in called(rows, ("select outer_one($1)",))] == [
        ("outer_one", 1),
        ("inner_one", 1),
    ]


FUNCTIONS = (
    SqlFunction(schema="public", name="f", arguments=1, statements=("SELECT g($1)",)),
    SqlFunction(schema="public", name="g", arguments=1, statements=("SELECT f(v) FROM t WHERE k = $1",)),
    SqlFunction(schema="a", name="h", arguments=0, statements=("SELECT 1",)),
    SqlFunction(schema="b", name="h", arguments=0, statements=("SELECT 2",)),
)
CALL = ("select f($1)", counted(1, calls=10, buffers=1))


def test_the_bodies_of_a_statement_are_those_of_all_that_it_calls_once() -> None:
    made = case(statements=(CALL,), sql_functions=FUNCTIONS)
    assert bodies_called(made, "select f($1)") == ("SELECT g($1)", "SELECT f(v) FROM t WHERE k = $1")
    assert bodies_called(made, "select f($1, 2)") == ()


def test_a_name_of_two_functions_is_none() -> None:
    assert bodies_called(case(statements=(CALL,), sql_functions=FUNCTIONS), "select h()") == ()


def test_where_the_server_counts_statements_of_functions_by_themselves_they_are_not_read_twice() -> None:
    inner = replace(counted(2, calls=10, buffers=1), is_top_level=False)
    made = case(statements=(CALL, ("select f(v) from t where k = $1", inner)), sql_functions=FUNCTIONS)
    assert bodies_called(made, "select f($1)") == ()
