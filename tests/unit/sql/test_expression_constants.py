"""Constants that the schema names for places of a statement: by expressions of indexes and by their predicates."""

from __future__ import annotations

import pytest

from pgclinic.sql.expression_constants import constants_by_predicate, constants_of


@pytest.mark.parametrize(
    ("expression", "pattern", "found"),
    [
        ("d.data ->> $1", "(data ->> 'number'::text)", {1: "number"}),
        ("data #>> $1", "(data #>> '{a,b}'::text[])", {1: "{a,b}"}),
        ("lower(customer.email)", "lower((email)::text)", {}),
        ("((data -> $1) ->> $2)::integer", "(((data -> 'a'::text) ->> 'b'::text))::integer", {1: "a", 2: "b"}),
        ("date_trunc($1, placed)", "date_trunc('day'::text, placed)", {1: "day"}),
        # The same place cannot be two constants.
        ("(data -> $1) ->> $1", "((data -> 'a'::text) ->> 'b'::text)", None),
        ("data ->> $1", "(data -> 'number'::text)", None),
        ("data ->> $1", "(other ->> 'number'::text)", None),
        ("data ->> $1", "upper(data)", None),
        ("date_trunc($1, placed, 'UTC')", "date_trunc('day'::text, placed)", None),
        ("data ->> $1", "this is no expression", None),
    ],
)
def test_an_expression_is_compared_with_that_of_an_index(
    expression: str, pattern: str, found: dict[int, str] | None
) -> None:
    assert constants_of(expression, pattern) == found


@pytest.mark.parametrize(
    ("predicate", "values"),
    [
        ("(status = 'open'::text)", ("open",)),
        (
            "((status)::text = ANY ((ARRAY['open'::character varying, 'held'::character varying])::text[]))",
            ("open", "held"),
        ),
        ("((paid_on IS NULL) AND (status = 'open'::text))", ("open",)),
        ("(status <> 'open'::text)", ()),
        ("(other = 'open'::text)", ()),
        ("(status = upper(other))", ()),
    ],
)
def test_a_predicate_names_the_values_of_its_rows(predicate: str, values: tuple[str, ...]) -> None:
    assert constants_by_predicate("job.status", predicate) == values
