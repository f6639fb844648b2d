"""What calibration tries for a statement, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from pgclinic.model.twin import TwinStatement
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_places import Place, TypedStatement
from pgclinic.sql.typed_statement import typed_statement
from pgclinic.twin.alternatives import alternatives, first_choice, with_constants
from pgclinic.twin.choice import Choice
from pgclinic.twin.index_constants import Constants
from pgclinic.twin.parameters import RunnableStatement
from pgclinic.twin.usual_values import UsualValues

TYPES = {"id": "bigint", "state": "text", "placed": "date", "tags": "text[]", "data": "jsonb"}
SCHEMA = KnownSchema(
    {
        ("public", "job"): KnownTable(
            "public.job",
            {one: KnownColumn(one, type_, "text" if one == "tags" else None) for one, type_ in TYPES.items()},
        )
    }
)


class Named:
    """Usual values that are known from the start."""

    def named_by_schema(self, statement: TypedStatement) -> tuple[Constants, ...]:
        return (((1, "first"),), ((1, "second"),)) if "->>" in statement.text else ()

    def keys_of_documents(self, statement: TypedStatement, place: Place) -> list[Constants]:
        return [((place.number, "key"),)]

    def states(self, statement: TypedStatement) -> list[Constants]:
        return [((1, "open"),)]

    def common_values(self, statement: TypedStatement) -> list[Constants]:
        return []


def runnable(text: str, rows_per_call: float = 1.0) -> RunnableStatement:
    typed = typed_statement(text, SCHEMA)
    counted = TwinStatement(
        query_id=1, text=text, kind=typed.verb, calls=1000, rows=round(1000 * rows_per_call), total_ms=1.0
    )
    return RunnableStatement(counted=counted, typed=typed)


def tried(text: str, known: Choice | None = None, *, finds_one: bool = False) -> list[Choice]:
    def each() -> Iterator[Choice]:
        statement = runnable(text)
        for further in alternatives(statement, cast("UsualValues", Named()), finds_one=finds_one):
            yield from further(known or first_choice(statement))

    return list(each())


def test_a_look_up_by_its_key_has_nothing_to_try() -> None:
    assert tried("select state from job where id = $1", finds_one=True) == []


def test_what_the_schema_names_is_tried_first() -> None:
    first, *_ = tried("select id from job where data ->> $1 = $2")
    assert first.constants == ((1, "second"),)


def test_values_that_are_asked_for_often_are_tried_for_a_search() -> None:
    choices = tried("select id from job where state = $1")
    assert {choice.skew for choice in choices} > {None}
    singles = [choice.ranks for choice in choices if choice.is_one_value]
    assert singles[0] == (0, 1)
    assert any(choice.distinct for choice in choices)


@pytest.mark.parametrize(
    "text", ["update job set state = $1 where state = $2", "select id from job where state = $1 for update"]
)
def test_rows_that_are_changed_are_not_the_same_ones_in_all_sessions(text: str) -> None:
    assert [one for one in tried(text) if one.ranks is not None or one.skew is not None] == []


def test_values_beside_the_best_one_are_tried() -> None:
    best = Choice(ranks=(2, 1))
    ranks = {one.ranks for one in tried("select id from job where state = $1", best)}
    assert {(1, 1), (3, 1), (5, 1)} <= ranks
    # Those beyond the next ones that were tried before are not.
    assert (13, 1) not in ranks


def test_parts_of_what_is_contained_are_tried() -> None:
    choices = tried("select id from job where tags @> $1")
    assert {choice.elements for choice in choices} == {1, 2, 3}


def test_what_a_statement_sets_may_be_the_same_every_time() -> None:
    choices = tried("update job set state = $1 where id = $2", finds_one=True)
    assert [(choice.constants, choice.in_place) for choice in choices] == [(((1, "open"),), False), ((), True)]


@pytest.mark.parametrize(
    ("rows_per_call", "limits"),
    [
        (10.0, [10, 20, 25, 50, 100]),
        (7.0, [7, 10, 20, 25, 50]),
        # It was not always reached.
        (7.4, [10, 20, 25, 50, 100]),
        (2000.0, [2000]),
    ],
)
def test_limits_are_those_that_people_write(rows_per_call: float, limits: list[int]) -> None:
    statement = runnable("select id from job limit $1", rows_per_call)
    first = first_choice(statement)
    others = [
        one.limit
        for further in alternatives(statement, cast("UsualValues", Named()), finds_one=False)
        for one in further(first)
    ]
    assert [first.limit, *others] == limits


def test_constants_replace_those_of_the_same_place() -> None:
    choice = with_constants(Choice(constants=((1, "a"), (2, "b"))), ((2, "c"),))
    assert choice.constants == ((1, "a"), (2, "c"))
