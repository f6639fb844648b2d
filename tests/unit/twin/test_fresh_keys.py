"""Keys of new rows: which of them a statement fills, and which rows leave room for them."""

from __future__ import annotations

from typing import Any

import pytest

from pgclinic.model.twin import TwinForeignKey, TwinKey, TwinTable
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_places import PlaceUse, TypedStatement
from pgclinic.sql.typed_statement import typed_statement
from pgclinic.twin.fresh_keys import (
    FreshKey,
    conditions_of_new_rows,
    filled_keys,
    keys_of_parents,
    keys_used_once,
    room_for,
    wants_new_rows,
)

TABLES = {"visit": ("id", "patient"), "bill": ("visit", "line", "amount"), "stay": ("visit", "bed")}
SCHEMA = KnownSchema(
    {
        ("public", name): KnownTable(f"public.{name}", {column: KnownColumn(column, "bigint") for column in columns})
        for name, columns in TABLES.items()
    }
)


def table(name: str, *key: str) -> TwinTable:
    known: dict[str, Any] = {"parent": "public.visit", "parent_columns": ("id",)}
    return TwinTable(
        name=f"public.{name}",
        columns=(),
        keys=(TwinKey(name=f"{name}_pkey", columns=key, is_primary=True),),
        foreign_keys=(TwinForeignKey(name="f", columns=("visit",), **known),),
    )


BILL = table("bill", "visit", "line")
STAY = table("stay", "visit")


def typed(text: str) -> TypedStatement:
    return typed_statement(text, SCHEMA)


def test_a_key_is_filled_by_places_and_by_rows() -> None:
    (key,) = filled_keys(typed("insert into bill (visit, line) select v.id, $1 from visit as v where v.id = $2"), BILL)
    assert (key.places, [one.column for one in key.derived], key.others) == (("line",), ["visit"], ())
    (key,) = filled_keys(typed("insert into bill (visit, line) select $1, row_number() over () from visit"), BILL)
    assert (key.places, key.derived, key.others) == (("visit",), (), ("line",))
    # A default fills the rest.
    assert filled_keys(typed("insert into bill (visit, amount) values ($1, $2)"), BILL) == ()


def test_the_value_by_which_rows_are_found_is_one_of_the_key() -> None:
    statement = typed(
        "insert into stay (visit, bed) select v.id, $1 from visit as v where v.id = $2 and v.patient = $3"
    )
    (key,) = filled_keys(statement, STAY)
    by_column = {place.column: key.is_filled_by(place) for place in statement.places}
    assert by_column == {"bed": False, "id": True, "patient": False}
    assert {place.use for place in statement.places} == {PlaceUse.INSERT, PlaceUse.EQUAL}


def test_parents_have_to_be_without_a_row() -> None:
    assert keys_of_parents(typed("insert into stay (visit, bed) values ($1, $2)"), STAY) == ("visit",)
    assert keys_of_parents(typed("insert into bill (visit, line) values ($1, $2)"), BILL) == ()


def test_rows_with_a_fresh_key_are_made_again_and_again() -> None:
    statement = typed("insert into bill (visit, line) values ($1, $2)")
    fresh = FreshKey(number=2, table="public.bill", column="line", type="bigint", base=1)
    assert keys_used_once(statement, BILL, (fresh,)) == ()
    assert [key.columns for key in keys_used_once(statement, BILL, ())] == [("visit", "line")]


def test_rows_are_read_of_which_none_was_made() -> None:
    statement = typed("insert into stay (visit, bed) select v.id, $1 from visit as v where v.patient = $2")
    ((source, condition),) = conditions_of_new_rows(statement, STAY)
    assert statement.sources[source].alias == "v"
    assert condition == 'not exists (select from public.stay as pgclinic_there where pgclinic_there."visit" = v.id)'
    # The line is another one each time.
    numbered = typed("insert into bill (visit, line) select v.id, $1 from visit as v")
    assert list(conditions_of_new_rows(numbered, BILL)) == []


def test_a_trial_makes_room_for_its_row() -> None:
    statement = typed("insert into stay (visit, bed) values ($1, $2)")
    assert list(room_for(statement, STAY, {"visit": "'7'", "bed": "'1'"})) == [
        "delete from public.stay where \"visit\" = '7'"
    ]
    assert list(room_for(statement, STAY, {"bed": "'1'"})) == []


@pytest.mark.parametrize(
    ("end", "rows_per_call", "wanted"),
    [
        ("", 0.5, True),
        (" on conflict do nothing", 1.0, True),
        (" on conflict do nothing", 0.4, False),
        (" on conflict (visit) do update set bed = $3", 1.0, False),
    ],
)
def test_what_met_rows_that_were_there_may_meet_them_again(end: str, rows_per_call: float, *, wanted: bool) -> None:
    assert wants_new_rows(typed(f"insert into stay (visit, bed) values ($1, $2){end}"), rows_per_call) is wanted
