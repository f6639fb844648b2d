"""The value of a place in terms of a row of the twin."""

from __future__ import annotations

import pytest

from pgclinic.model.twin import TwinColumn
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.choice import Choice
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.row_expressions import RowExpressions, is_by_itself

COLUMNS = {
    "data": TwinColumn(name="data", type="jsonb", base_type="jsonb"),
    "tags": TwinColumn(name="tags", type="text[]", base_type="_text"),
    "during": TwinColumn(name="during", type="tstzrange", base_type="tstzrange", type_kind="r"),
}


def place(number: int, use: PlaceUse, expression: str, column: str | None = None, **more: str) -> Place:
    return Place(number=number, use=use, source=0, table="public.t", expression=expression, column=column, **more)


def expressions(places: list[Place], choice: Choice, others: tuple[Place, ...] = ()) -> RowExpressions:
    return RowExpressions(places, others, choice, plain=lambda _: "1", column=lambda one: COLUMNS.get(str(one.column)))


KEY = place(1, PlaceUse.KEY, "t.data", "data")
VALUE = place(2, PlaceUse.EQUAL, "t.data ->> $1")


def test_a_value_is_that_of_the_key_which_was_drawn_with_it() -> None:
    drawn = expressions([KEY, VALUE], Choice(key_of="number"), (KEY, VALUE))
    assert drawn.of(KEY) == "pgclinic_key_1.one"
    assert drawn.of(VALUE) == "t.data ->> pgclinic_key_1.one"
    assert "as pgclinic_key_1" in drawn.lateral()
    assert "jsonb_typeof(value) = 'number'" in drawn.lateral()


def test_a_key_that_never_changes_is_written_as_it_is() -> None:
    drawn = expressions([VALUE], Choice(constants=((1, "it's"),)), (KEY, VALUE))
    assert drawn.of(VALUE) == "t.data ->> 'it''s'"
    assert drawn.of(KEY) == "'it''s'::text"
    assert drawn.lateral() == ""


def test_a_value_whose_key_is_unknown_cannot_be_had() -> None:
    with pytest.raises(CannotRun):
        expressions([VALUE], Choice(), (VALUE,)).of(VALUE)


@pytest.mark.parametrize("cast", ["numeric(8, 2)", "timestamp (3) with time zone", "int[]", 'clinic."Dose"'])
def test_a_value_that_no_row_says_anything_of_keeps_its_cast(cast: str) -> None:
    step = place(1, PlaceUse.DELTA, "t.amount")
    total = place(2, PlaceUse.EQUAL, f"t.amount + $1::{cast} - t.fee")
    assert expressions([total], Choice(), (step, total)).of(total) == f"t.amount + '1'::{cast} - t.fee"


@pytest.mark.parametrize("cast", ["text", "double precision", "interval day to second", "text[]"])
def test_a_key_is_no_longer_cast(cast: str) -> None:
    value = place(2, PlaceUse.EQUAL, f"t.data -> $1::{cast} || t.name")
    assert expressions([KEY, value], Choice(key_of="number"), (KEY, value)).of(value) == (
        "t.data -> pgclinic_key_1.one || t.name"
    )


@pytest.mark.parametrize(
    ("wanted", "choice", "words"),
    [
        (place(1, PlaceUse.CONTAINS, "t.tags", "tags"), Choice(elements=3), ("unnest(t.tags)", "limit 3", "array_agg")),
        (place(1, PlaceUse.CONTAINS, "t.data", "data"), Choice(elements=2), ("jsonb_object_agg", "limit 2")),
        (place(1, PlaceUse.ELEMENT, "t.tags", "tags"), Choice(), ("unnest(t.tags)", "limit 1")),
        (place(1, PlaceUse.PART, "t.tags", "tags"), Choice(), ("coalesce(", "unnest(t.tags)", "'{}'")),
        (place(1, PlaceUse.PART, "t.data", "data"), Choice(), ("coalesce(", "jsonb_each(", "'{}'")),
        (place(1, PlaceUse.MEMBER, "t.data", "data"), Choice(), ("select value from",)),
        (place(1, PlaceUse.MEMBER, "t.tags", "tags"), Choice(), ("unnest(t.tags)",)),
        (place(1, PlaceUse.SEARCH, "t.words", "words"), Choice(elements=2), ("to_tsvector", "limit 2", "' & '")),
        (
            place(1, PlaceUse.CONTAINS, "t.during", "during", type="timestamp with time zone"),
            Choice(),
            ("pg_catalog.lower(t.during)", "pg_catalog.upper(t.during)"),
        ),
    ],
)
def test_parts_of_a_row_s_value(wanted: Place, choice: Choice, words: tuple[str, ...]) -> None:
    text = expressions([wanted], choice, (wanted,)).of(wanted)
    assert [word for word in words if word not in text] == []


def test_a_range_is_searched_by_a_range_as_it_is() -> None:
    one = place(1, PlaceUse.CONTAINS, "t.during", "during")
    assert expressions([one], Choice(), (one,)).of(one) == "t.during"


def test_which_values_come_from_no_row() -> None:
    assert is_by_itself(Place(number=1, use=PlaceUse.INSERT, type="bigint", source=0))
    assert not is_by_itself(Place(number=1, use=PlaceUse.INSERT, type="bigint", source=0, column="id"))
    assert is_by_itself(place(1, PlaceUse.DELTA, "t.amount"))
    assert not is_by_itself(VALUE)
