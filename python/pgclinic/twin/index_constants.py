"""Constants of a statement that the schema names: an index or statistics of an expression were made for them.

``document ->> $1 = $2`` is looked up by an index on ``document ->> 'number'`` alone, and a partial index is used where
a statement has the constant of its predicate.
"""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.twin import Twin, TwinTable
from pgclinic.sql.expression_constants import constants_by_predicate, constants_of
from pgclinic.sql.statement_places import Place, PlaceUse, TypedStatement

_MOST = 6

Constants = tuple[tuple[int, str], ...]


def index_constants(statement: TypedStatement, twin: Twin) -> tuple[Constants, ...]:
    """Values of places by number, those first that most places get theirs by; none where no expression fits."""
    tables = {table.name: table for table in twin.tables}
    found: list[dict[int, str]] = []
    for source in statement.sources:
        places = [place for place in statement.places if place.source == source.number and place.expression]
        if source.table in tables and places:
            found += _of_source(places, tables[source.table])
    unique = list(dict.fromkeys(tuple(sorted(one.items())) for one in found))
    together = _merged(unique)
    most = sorted(dict.fromkeys([*together, *unique]), key=lambda one: -len(one))
    return tuple(most[:_MOST])


def _merged(found: list[Constants]) -> list[Constants]:
    """The constants of several indexes at once, as far as they agree."""
    merged: dict[int, str] = {}
    for one in found:
        if not merged.keys() & dict(one).keys():
            merged |= dict(one)
    return [tuple(sorted(merged.items()))] if merged else []


def _of_source(places: list[Place], table: TwinTable) -> Iterator[dict[int, str]]:
    expressions = [key for index in table.indexes for key in index.keys]
    expressions += [column for joint in table.joint for column in joint.columns]
    for expression in dict.fromkeys(expressions):
        for place in places:
            constants = constants_of(str(place.expression), expression) if "$" in str(place.expression) else None
            if constants:
                yield constants
    for predicate in dict.fromkeys(index.predicate for index in table.indexes if index.predicate):
        for place in places:
            if place.use is PlaceUse.EQUAL and "$" not in str(place.expression):
                for value in constants_by_predicate(str(place.expression), str(predicate)):
                    yield {place.number: value}
