"""Functions of an application: the types of their arguments, and what their bodies do with them."""

from __future__ import annotations

import pytest

from pgclinic.sql import nodes
from pgclinic.sql.known_functions import KnownFunction, body_with, known_function
from pgclinic.sql.parser import printed

AGE = """CREATE OR REPLACE FUNCTION public.age_on(born date, "on" date DEFAULT now(), OUT years integer)
 LANGUAGE sql STABLE AS $function$ SELECT extract(year FROM age("on", born))::integer $function$"""
BALANCE = """CREATE FUNCTION clinic.open_balance(patient bigint) RETURNS numeric LANGUAGE plpgsql AS $$
declare found numeric; -- ä comment; with a semicolon
begin
  if exists (select from patient_note as n where n.patient_id = $1) then
    perform touched(patient);
  end if;
  for line in select * from invoice where patient_id = open_balance.patient and case when paid then true end loop
    update invoice set seen = seen + 1 where invoice_id = line.invoice_id;
  end loop;
  insert into balance_log (patient_id) values (patient) returning amount into found;
  execute 'select ' || patient;
  return found;
end $$"""


def known(statement: str) -> KnownFunction:
    found = known_function(statement)
    assert found is not None
    return found


def body(statement: str) -> list[str]:
    return [printed(one) for one in known(statement).body]


def test_a_function_has_the_arguments_that_a_caller_gives() -> None:
    function = known(AGE)
    assert (function.schema, function.name) == ("public", "age_on")
    assert (function.names, function.types, function.required) == (("born", "on"), ("date", "date"), 1)
    assert [function.takes(count) for count in range(4)] == [False, True, True, False]
    assert (function.position("on"), function.position("years")) == (1, None)


def test_a_type_that_the_value_decides_is_none() -> None:
    made = known("create function f(anyelement, x anyarray, y bigint) returns int language sql as 'select 1'")
    assert (made.names, made.types) == (("", "x", "y"), (None, None, "bigint"))


@pytest.mark.parametrize(
    "statement",
    [
        "create procedure p(x int) language sql as 'select 1'",
        "create function v(variadic x int[]) returns int language sql as 'select 1'",
        "create aggregate a (int) (sfunc = int4pl, stype = int)",
        "create function f(",
    ],
)
def test_what_is_not_called_as_a_function_with_so_many_arguments_is_none(statement: str) -> None:
    assert known_function(statement) is None


def test_the_statements_of_a_body_are_read() -> None:
    (age,) = body(AGE)
    assert age.startswith("SELECT")
    statements = body(BALANCE)
    assert [statement.split(" ")[0] for statement in statements] == ["SELECT", "SELECT", "SELECT", "UPDATE", "INSERT"]
    assert statements[1] == "SELECT touched(patient)"
    assert statements[4].endswith("RETURNING amount")


def test_a_body_of_the_standard_is_read() -> None:
    made = "create function f(x int) returns int begin atomic delete from t where id = x; select 1; end"
    assert [one.split(" ")[0] for one in body(made)] == ["DELETE", "SELECT"]


def test_a_body_that_cannot_be_read_has_no_statements() -> None:
    assert body("create function f(x int) returns int language c as 'lib', 'symbol'") == []
    assert body("create function f(x int) returns int language sql as 'selec 1'") == []


def test_arguments_come_in_place_of_their_names() -> None:
    function = known(BALANCE)
    given = nodes.ParamRef(number=7)
    texts = [printed(one) for one in body_with(function, [given])]
    assert "n.patient_id = $7" in texts[0]
    assert "patient_id = $7" in texts[2]
    assert "VALUES ($7)" in texts[4]
    # The body is as it was: the next statement has other arguments.
    assert body(BALANCE) == [printed(one) for one in function.body]
    assert "$7" not in " ".join(body(BALANCE))
