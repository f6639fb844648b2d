"""Which choices calibration tries for a statement, one property after the other, the likeliest first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from pgclinic.model.twin import TwinStatement
from pgclinic.sql.statement_places import PlaceUse, TypedStatement
from pgclinic.twin.choice import Choice
from pgclinic.twin.index_constants import Constants
from pgclinic.twin.parameters import RunnableStatement
from pgclinic.twin.usual_values import UsualValues
from pgclinic.twin.values import SEARCHED

#: Shares of the rows of a range.
_WIDTHS = (0.0002, 0.001, 0.005, 0.02, 0.05, 0.1, 0.3, 0.7)
_ELEMENTS = (1, 3, 10, 30, 100)
_PREFIXES = (1, 2, 3, 5, 8)
#: Values of documents that a key may stand for.
_KEY_KINDS = ("number", "string", "boolean", "object", "array")
#: What people write behind LIMIT.
_USUAL_LIMITS = (1, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
_LIMITS_TRIED = 5
#: How many pages a list by OFFSET passes over.
_PAGES_BEFORE = (100, 10, 1000, 3, 30, 300)
#: A mean of rows per call that is as near to a whole number is one.
_WHOLE = 0.01
#: The most common value is 0; the next ones and less common ones.
_SINGLE_RANKS = (0, 1, 2, 3, 4, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377)
_FIRST_RANKS = (0, 2, 8, 34, 144)
#: Single values, and the most common ones together.
_RANKS = (*((at, 1) for at in _FIRST_RANKS), (0, 3), (0, 10), (0, 40), (0, 200))
#: Exponents of Zipf's law: the larger, the more a few values are asked for.
_SKEWS = (0.5, 0.8, 1.05, 1.3)
#: Of how many parts a document, an array or a search consists that others contain.
_PARTS = (1, 2, 3)

#: Makes choices from the best one so far.
Alternatives = Callable[[Choice], Iterator[Choice]]


def first_choice(statement: RunnableStatement) -> Choice:
    """The likeliest one."""
    limit = _limits(statement.typed, statement.counted)
    return Choice(limit=limit[0], elements=_elements(statement))


def _each(name: str, values: Sequence[Any]) -> Alternatives:
    """Choices that differ in one property."""
    return lambda known: (replace(known, **{name: value}) for value in values)


def _each_constants(constants: Sequence[Constants]) -> Alternatives:
    """Choices that differ in what never changes."""
    return lambda known: (with_constants(known, constant) for constant in constants)


def alternatives(statement: RunnableStatement, usual: UsualValues, *, finds_one: bool) -> Iterator[Alternatives]:
    """What to try one after the other, the likeliest first.

    ``finds_one`` says that every table is looked up by a whole key: then any key is as good as another.
    """
    typed = statement.typed
    constants = usual.named_by_schema(typed)
    uses = {place.use for place in typed.places if place.source is not None}
    if constants:
        yield _each("constants", (*constants[1:], ()))
    yield from _keys(usual, typed, uses)
    yield from _lengths(typed, uses)
    if uses & SEARCHED and not finds_one:
        yield from _searches(usual, typed, uses)
    yield from _rows(typed, finds_one=finds_one)
    limits = _limits(typed, statement.counted)
    if len(limits) > 1:
        yield _each("limit", limits[1:])
    if any(place.use is PlaceUse.OFFSET for place in typed.places):
        yield lambda known: (replace(known, offset=pages * known.limit) for pages in _PAGES_BEFORE)
    if PlaceUse.ASSIGN in uses:
        yield _each_constants(usual.states(typed))
        yield _each("in_place", (True,))


def _keys(usual: UsualValues, typed: TypedStatement, uses: set[PlaceUse]) -> Iterator[Alternatives]:
    """Which keys of documents are looked at: one by its name, or those with values of one kind."""
    for place in typed.places:
        if place.use is PlaceUse.KEY:
            yield _each_constants(usual.keys_of_documents(typed, place))
    if PlaceUse.KEY in uses:
        # What cannot be cast to a number or a date is refused.
        yield _each("key_of", _KEY_KINDS)


def _lengths(typed: TypedStatement, uses: set[PlaceUse]) -> Iterator[Alternatives]:
    """How wide a range is, how long a prefix or a list."""
    if uses & {PlaceUse.LOW, PlaceUse.HIGH}:
        yield _each("width", _WIDTHS)
        if uses >= {PlaceUse.LOW, PlaceUse.HIGH} and typed.verb == "select":
            yield _each("recent", (True,))
    if PlaceUse.PATTERN in uses:
        yield _each("prefix", _PREFIXES)
    if PlaceUse.ARRAY in uses or any(place.is_list for place in typed.places):
        yield _each("elements", _ELEMENTS)


def _rows(typed: TypedStatement, *, finds_one: bool) -> Iterator[Alternatives]:
    """Which rows the values of one execution come from: the same one, joined ones, or each from one of its own."""
    if typed.joins and len({place.source for place in typed.places if place.source is not None}) > 1:
        yield _each("joined", (True,))
    if _has_pairs(typed):
        yield _each("shared", (True,))
    if any(source.filters for source in typed.sources):
        yield _each("filtered", (False,))
    if sum(place.use in SEARCHED for place in typed.places) > 1 and not finds_one:
        yield _each("apart", (True,))


def _searches(usual: UsualValues, typed: TypedStatement, uses: set[PlaceUse]) -> Iterator[Alternatives]:
    """How common what is searched for may be: from how many of its parts it is made, and which ones they are."""
    has_parts = bool(uses & {PlaceUse.CONTAINS, PlaceUse.OVERLAPS, PlaceUse.SEARCH})
    if has_parts:
        yield _each("elements", _PARTS)
    yield _each("distinct", (True,))
    if typed.verb == "select" and not typed.locks_rows:
        # One value for all would make sessions wait for each other where rows are changed.
        yield lambda known: (_ranked(known, ranks) for ranks in _RANKS)
        yield _beside
        yield lambda known: (replace(known, ranks=None, skew=skew) for skew in _SKEWS)
        if has_parts:
            yield lambda known: _in_parts(known, known.width)
            yield _beside
        # A range was made narrow for what is common: the other way round it is wide.
        yield lambda known: _in_parts(known, _WIDTHS[-1]) if known.width not in (None, _WIDTHS[-1]) else iter(())
        yield _beside
        yield _each_constants(usual.common_values(typed))
    yield _each("of_parent", (True,))


def _ranked(known: Choice, ranks: tuple[int, int], elements: int | None = None) -> Choice:
    return replace(known, ranks=ranks, skew=None, elements=elements or known.elements)


def _in_parts(known: Choice, width: float | None) -> Iterator[Choice]:
    """Single values made of other numbers of parts, or of all of them with another width of the range."""
    for elements in _PARTS if known.elements in _PARTS else (known.elements,):
        for at in _FIRST_RANKS if elements != known.elements or width != known.width else ():
            yield replace(_ranked(known, (at, 1), elements), width=width)


def _beside(known: Choice) -> Iterator[Choice]:
    """Values that are somewhat more or less common than the best one."""
    if not known.is_one_value or known.ranks is None or known.ranks[0] not in _FIRST_RANKS:
        return
    at = _FIRST_RANKS.index(known.ranks[0])
    low = _FIRST_RANKS[at - 1] if at else -1
    high = _FIRST_RANKS[at + 1] if at + 1 < len(_FIRST_RANKS) else _SINGLE_RANKS[-1] + 1
    for rank in _SINGLE_RANKS:
        if low < rank < high and rank != known.ranks[0]:
            yield _ranked(known, (rank, 1))


def _has_pairs(typed: TypedStatement) -> bool:
    """Whether several mentions of tables are compared with a value."""
    return len({place.source for place in typed.places if place.use is PlaceUse.EQUAL and place.column is not None}) > 1


def _limits(typed: TypedStatement, counted: TwinStatement) -> list[int]:
    """What LIMIT may have been: the rows per call if they are whole, and the usual numbers above."""
    if not any(place.use is PlaceUse.LIMIT for place in typed.places):
        return [10]
    least = max(1, math.ceil(counted.rows_per_call - _WHOLE))
    usual = [limit for limit in _USUAL_LIMITS if limit >= least]
    if abs(counted.rows_per_call - least) > _WHOLE and usual:
        # It was not always reached.
        return usual[:_LIMITS_TRIED]
    return list(dict.fromkeys([least, *usual]))[:_LIMITS_TRIED]


def _elements(statement: RunnableStatement) -> int:
    """A list is as long as it has rows to find; a document or an array that is contained has one part."""
    if not any(place.is_list or place.use is PlaceUse.ARRAY for place in statement.typed.places):
        return 1
    return max(1, min(200, round(statement.counted.rows_per_call)))


def with_constants(choice: Choice, constants: Constants) -> Choice:
    """The choice with more constants, or with other ones for the same places."""
    return replace(choice, constants=tuple(sorted((dict(choice.constants) | dict(constants)).items())))
