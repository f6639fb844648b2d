"""By which columns a statement looks for the rows of one mention of a table, from its parse tree. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.sql.statement_places import PlaceUse, TypedStatement
from pgclinic.sql.unqualified import without_aliases

_EQUAL = frozenset((PlaceUse.EQUAL, PlaceUse.ONE_OF, PlaceUse.ARRAY))
_RANGE = frozenset((PlaceUse.LOW, PlaceUse.HIGH))
_CONTAINED = frozenset((PlaceUse.CONTAINS, PlaceUse.OVERLAPS, PlaceUse.SEARCH))


@dataclass(frozen=True, kw_only=True)
class SearchedColumns:
    """One mention of a table. Columns by how they are searched; ``contained`` by @> and the like, which GIN serves.

    ``joined`` are those that equal a column of another table for which the statement has a value, or which such a table
    leads to; ``joins`` are all of these with the ``number`` of the other mention. ``is_limited``: the statement has a
    LIMIT.
    """

    number: int = 0
    equal: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    contained: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    is_limited: bool = False
    joins: tuple[tuple[str, int], ...] = ()


def searched_columns(typed: TypedStatement, source: int) -> SearchedColumns:
    """The columns by which the mention ``source`` of a table is searched."""
    columns: dict[str, dict[str, None]] = {"equal": {}, "ranges": {}, "contained": {}}
    for place in typed.places:
        kind = _kind(place.use) if place.source == source and place.column is not None else None
        if kind is not None and place.column is not None:
            columns[kind][place.column] = None
    led_to = _led_to(typed, without=source)
    joins = tuple(
        (join.columns[join.sources.index(source)], other)
        for join in typed.joins
        if join.columns is not None and source in join.sources
        for other in set(join.sources) - {source}
        if other in led_to
    )
    return SearchedColumns(
        number=source,
        equal=tuple(columns["equal"]),
        ranges=tuple(name for name in columns["ranges"] if name not in columns["equal"]),
        joined=tuple(dict.fromkeys(column for column, _ in joins)),
        joins=joins,
        ordered=typed.sources[source].ordered,
        contained=tuple(columns["contained"]),
        expressions=tuple(dict.fromkeys(_expressions(typed, source))),
        is_limited=any(place.use is PlaceUse.LIMIT for place in typed.places),
    )


def _expressions(typed: TypedStatement, source: int) -> Iterator[str]:
    """Expressions that are compared for equality, as an index has them."""
    for place in typed.places:
        if place.source == source and place.column is None and place.use in _EQUAL and place.expression is not None:
            plain = without_aliases(place.expression)
            if plain is not None:
                yield plain


def _led_to(typed: TypedStatement, *, without: int) -> set[int]:
    """Mentions for which the statement has a value, and those that they are joined to by equality of columns."""
    found = {place.source for place in typed.places if place.source is not None and place.use in _EQUAL | _RANGE}
    found.discard(without)
    grown = True
    while grown:
        more = {
            number
            for join in typed.joins
            if join.columns is not None and found & set(join.sources)
            for number in join.sources
        }
        grown = bool(more - found - {without})
        found |= more - {without}
    return found


def _kind(use: PlaceUse) -> str | None:
    if use in _EQUAL:
        return "equal"
    if use in _RANGE:
        return "ranges"
    return "contained" if use in _CONTAINED else None
