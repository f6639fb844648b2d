"""The values of whole transactions: keys that come from an earlier statement, loops, and states that change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from fixtures.bare_twin import bare_twin
from pgclinic.model.twin import TwinColumn, TwinForeignKey, TwinKey, TwinStatement, TwinTable
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_places import Place, TypedStatement
from pgclinic.sql.typed_statement import typed_statement
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.choice import Choice
from pgclinic.twin.deck import Deck, TakenKey, dealt
from pgclinic.twin.fresh_keys import FreshKey, keys_used_once
from pgclinic.twin.parameters import Domains, RunnableStatement, table_named
from pgclinic.twin.plain_values import Value, Values
from pgclinic.twin.transactions import GroupedTransaction, TransactionStep
from pgclinic.twin.tried_choices import Tried
from pgclinic.twin.values import ValueSource

COLUMNS = {
    "job": ("id", "state"),
    "person": ("id", "name"),
    "purchase": ("id", "person_id"),
    "line": ("purchase_id", "no", "amount"),
    "receipt": ("purchase_id", "name"),
}
TEXTS = {"state", "name"}
PARENTS = {
    ("purchase", "person_id"): "person",
    ("line", "purchase_id"): "purchase",
    ("receipt", "purchase_id"): "purchase",
}
KEYS = {"line": ("purchase_id", "no"), "receipt": ("purchase_id",)}


def table(name: str) -> TwinTable:
    keys = KEYS.get(name, ("id",))
    return TwinTable(
        name=f"public.{name}",
        columns=tuple(
            TwinColumn(name=one, type="text", base_type="text")
            if one in TEXTS
            else TwinColumn(name=one, type="bigint", base_type="int8", not_null=True)
            for one in COLUMNS[name]
        ),
        keys=(TwinKey(name=f"{name}_pkey", columns=keys, is_primary=True),),
        foreign_keys=tuple(
            TwinForeignKey(name="f", columns=(column,), parent=f"public.{parent}", parent_columns=("id",))
            for (child, column), parent in PARENTS.items()
            if child == name
        ),
    )


SHOP = bare_twin(table(name) for name in COLUMNS)
SCHEMA = KnownSchema(
    {
        ("public", name): KnownTable(
            f"public.{name}", {one: KnownColumn(one, "text" if one in TEXTS else "bigint") for one in columns}
        )
        for name, columns in COLUMNS.items()
    }
)


class Numbered:
    """Values that count downwards, so that no two are the same; what is given stays."""

    def __init__(self) -> None:
        self.next = 10_000
        self.usual = self

    def draw_given(self, statement: RunnableStatement, choice: Choice, given: list[Values]) -> list[Values]:
        return [{place.number: self._value(one, place) for place in statement.typed.places} for one in given]

    def _value(self, given: Values, place: Place) -> Value:
        self.next -= 1
        return given.get(place.number, str(self.next))

    def rows_of(self, name: str) -> float:
        return 100.0

    def other_than(self, place: Place, value: Value, searched: Value) -> Value:
        return f"not {searched}"


def calibrated(number: int, text: str, rows_per_call: int, *, fresh: str | None = None) -> CalibratedStatement:
    typed: TypedStatement = typed_statement(text, SCHEMA)
    counted = TwinStatement(
        query_id=number, text=text, kind=typed.verb, calls=100, rows=100 * rows_per_call, total_ms=1.0
    )
    keys: tuple[FreshKey, ...] = tuple(
        FreshKey(number=place.number, table=str(place.table), column=str(place.column), type="bigint", base=1)
        for place in typed.places
        if fresh is not None and place.column == fresh
    )
    is_insert = typed.verb == "insert" and typed.target is not None
    return CalibratedStatement(
        statement=RunnableStatement(counted=counted, typed=typed),
        tried=Tried(choice=Choice(), rows_per_call=1.0, blocks_per_call=1.0, distance=0.0, draws=1),
        keys=keys,
        once=keys_used_once(typed, table_named(SHOP, str(typed.target)), keys) if is_insert else (),
    )


def deck_of(steps: Sequence[CalibratedStatement], times: Sequence[float] | None = None, size: int = 3) -> Deck:
    transaction = GroupedTransaction(
        steps=tuple(
            TransactionStep(query_id=one.statement.counted.query_id, times=often)
            for one, often in zip(steps, times or [1.0] * len(steps), strict=True)
        ),
        calls=100,
        explicit=True,
    )
    known: dict[int, CalibratedStatement] = {step.statement.counted.query_id: step for step in steps}
    return dealt(cast("ValueSource", Numbered()), transaction, known, Domains(SHOP), size)


def place_of(statement: CalibratedStatement, column: str) -> Place:
    return next(place for place in statement.statement.typed.places if place.column == column)


TAKE = calibrated(1, "select id from job where state = $1 order by id limit $2 for update skip locked", 1)
DONE = calibrated(2, "update job set state = $1 where id = $2", 1)


def test_a_job_is_the_one_that_was_taken_from_the_queue() -> None:
    deck = deck_of([TAKE, DONE])
    assert deck.taken == {(1, place_of(DONE, "id").number): TakenKey(turn=0, name="id", is_made=False)}


def test_a_job_that_was_taken_is_queued_no_more() -> None:
    deck = deck_of([TAKE, DONE])
    searched, assigned = place_of(TAKE, "state").number, place_of(DONE, "state").number
    for taken, done in zip(*deck.values, strict=True):
        assert done[assigned] == f"not {taken[searched]}"


def test_a_result_of_several_rows_has_no_key_to_take() -> None:
    several = calibrated(1, "select id from job where state = $1", 20)
    assert deck_of([several, DONE]).taken == {}


def test_a_key_that_a_statement_was_given_is_not_taken() -> None:
    known = calibrated(1, "select id from job where id = $1", 1)
    assert deck_of([known, DONE]).taken == {}


BUY = calibrated(3, "insert into purchase (person_id) values ($1) returning id", 1)
LINE = calibrated(4, "insert into line (purchase_id, no, amount) values ($1, $2, $3)", 1, fresh="no")
RECEIPT = calibrated(5, "insert into receipt (purchase_id, name) values ($1, $2)", 1)


def test_rows_below_a_new_one_belong_to_it() -> None:
    deck = deck_of([BUY, LINE, RECEIPT])
    made = TakenKey(turn=0, name="id", is_made=True)
    numbers = place_of(LINE, "purchase_id").number, place_of(RECEIPT, "purchase_id").number
    assert deck.taken == {(1, numbers[0]): made, (2, numbers[1]): made}


def test_a_row_that_was_found_may_have_its_only_child_already() -> None:
    find = calibrated(3, "select id from purchase where person_id = $1 limit $2", 1)
    deck = deck_of([find, RECEIPT])
    assert deck.taken == {}
    # A line has a number of its own.
    assert [one.name for one in deck_of([find, LINE]).taken.values()] == ["id"]


def test_a_loop_takes_its_rows_in_their_order() -> None:
    look = calibrated(6, "select name from person where id = $1", 1)
    deck = deck_of([look], [4.0])
    number = place_of(look, "id").number
    for values in zip(*deck.values, strict=True):
        found = [int(str(one[number])) for one in values]
        assert found == sorted(found)
        assert len(set(found)) == 4


def test_rows_of_one_insert_are_turns_of_the_loop_beside_it() -> None:
    look = calibrated(6, "select name from person where id = $1", 1)
    several = calibrated(7, "insert into purchase (person_id) values ($1), ($2)", 2)
    deck = deck_of([look, several], [2.0, 1.0])
    looked = place_of(look, "id").number
    inserted = [place.number for place in several.statement.typed.places]
    for first, second, insert in zip(*deck.values, strict=True):
        assert [first[looked], second[looked]] == [insert[number] for number in inserted]


def test_a_table_stands_below_those_that_it_refers_to() -> None:
    domains = Domains(SHOP)
    assert [domains.depth(f"public.{name}") for name in ("person", "purchase", "line")] == [0, 1, 2]
    assert domains.is_key("public.line", "no")
    assert not domains.is_key("public.line", "amount")
    assert not domains.is_key("public.person", "name")
