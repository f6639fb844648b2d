"""What the value of a place is in terms of a row of the twin, as SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pgclinic.model.twin import TwinColumn
from pgclinic.sql.quoting import literal
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.choice import Choice
from pgclinic.twin.parameters import CannotRun, OmissionReason

_NAME = r'(?:"(?:[^"]|"")+"|[a-z_][\w$]*)'
_UNIT = "(?:year|month|day|hour|minute|second)"
#: A type as statements are printed with it; only these have several words.
_TYPE = (
    rf"(?:double precision|(?:timestamp|time)(?: ?\(\d+\))? with time zone|interval {_UNIT}(?: to {_UNIT})?"
    rf"|{_NAME}(?:\.{_NAME})?)(?:\(\d+(?:, \d+)*\))?(?:\[\d*\])*"
)
_REFERENCE = re.compile(rf"\$(?P<number>\d+)(?P<cast>::{_TYPE})?")
_KEYS = frozenset((PlaceUse.KEY, PlaceUse.PATH))


class RowExpressions:
    """Expressions for ``places``, which are drawn together.

    ``plain`` gives the value of a place that no row says anything of, ``column`` the column that a place speaks of.
    """

    def __init__(
        self,
        places: Sequence[Place],
        others: Sequence[Place],
        choice: Choice,
        *,
        plain: Callable[[Place], str | None],
        column: Callable[[Place], TwinColumn | None],
    ) -> None:
        self._places = places
        self._others = {place.number: place for place in others}
        self._choice = choice
        self._constants = dict(choice.constants)
        self._plain = plain
        self._column = column
        self._keys = [place for place in places if place.use in _KEYS and place.number not in self._constants]

    def lateral(self) -> str:
        """Keys of documents, which other places of the same row depend on: what to join to the row, if anything."""
        return "".join(
            f" cross join lateral (select {self._key(place)} as one offset 0) as pgclinic_key_{place.number}"
            for place in self._keys
        )

    def of(self, place: Place) -> str:
        """The value of a place; raises CannotRun where it depends on one that is not known."""
        if place.number in self._constants:
            return f"{literal(self._constants[place.number])}::text"
        if place.use in _KEYS:
            return f"pgclinic_key_{place.number}.one"
        text = self._resolved(str(place.expression))
        column = self._column(place)
        type_ = column.type if column is not None else ""
        match place.use:
            case PlaceUse.ELEMENT:
                return _one_of(text)
            case PlaceUse.MEMBER | PlaceUse.PART | PlaceUse.CONTAINS | PlaceUse.OVERLAPS:
                return self._part(place, text, type_, is_range=column is not None and column.type_kind in ("r", "m"))
            case PlaceUse.SEARCH:
                return self._search(text, type_)
        return text

    def _part(self, place: Place, text: str, type_: str, *, is_range: bool) -> str:
        is_array, elements = type_.endswith("[]"), self._choice.elements
        part = text
        match place.use:
            case PlaceUse.MEMBER:
                part = _one_of(text) if is_array else text if "#>" in text else _member(text)
            case PlaceUse.PART:
                part = f"coalesce({_some(text, 1) if is_array else _members(text, 1)}, '{{}}')"
            case _ if is_array:
                part = _some(text, elements)
            case PlaceUse.CONTAINS if type_ == "jsonb":
                is_object = f"pg_catalog.jsonb_typeof({text}) = 'object'"
                part = f"case when {is_object} then {_members(text, elements)} else {text} end"
            case PlaceUse.CONTAINS if is_range and place.type not in (None, type_):
                # One of its elements: only a lower bound belongs to a range.
                part = f"coalesce(pg_catalog.lower({text}), pg_catalog.upper({text}))"
        return part

    def _search(self, text: str, type_: str) -> str:
        vector = text if type_ == "tsvector" else f"pg_catalog.to_tsvector('simple', ({text})::text)"
        some = f"select one.lexeme from pg_catalog.unnest({vector}) as one order by random()"
        return (
            f"(select pg_catalog.string_agg(quote_literal(lexeme), ' & ') from ({some}"
            f" limit {self._choice.elements}) as part)"
        )

    def _key(self, place: Place) -> str:
        document = f"pg_catalog.to_jsonb({self._resolved(str(place.expression), below=place.number)})"
        kind = self._choice.key_of
        where = f" where pg_catalog.jsonb_typeof(value) = '{kind}'" if kind is not None else ""
        one = "key" if place.use is PlaceUse.KEY else "array[key]"
        found = (
            f"select {one} from pg_catalog.jsonb_each({document}) as one(key, value){where} order by random() limit 1"
        )
        return f"case when pg_catalog.jsonb_typeof({document}) = 'object' then ({found}) end"

    def _resolved(self, expression: str, *, below: int | None = None) -> str:
        """An expression with something in place of every ``$n`` in it; of keys only those ``below`` a number."""
        keys = {place.number for place in self._keys if below is None or place.number < below}

        def known(match: re.Match[str]) -> str:
            number = int(match["number"])
            if number in keys:
                return f"pgclinic_key_{number}.one"
            other = self._others.get(number)
            value = self._constants.get(number)
            if value is None and other is not None and is_by_itself(other):
                value = self._plain(other)
            if value is None:
                raise CannotRun(OmissionReason.VALUE, expression)
            return literal(value) + (match["cast"] or "")

        return _REFERENCE.sub(known, expression)


def is_by_itself(place: Place) -> bool:
    """Whether the value of a place comes from no single row."""
    if place.use is PlaceUse.INSERT:
        return place.column is None
    return place.source is None or place.expression is None or place.use in _OF_NO_ROW


_OF_NO_ROW = frozenset((PlaceUse.DELTA, PlaceUse.OTHER, PlaceUse.BOUND, PlaceUse.UNIT, PlaceUse.LIMIT, PlaceUse.OFFSET))


def _one_of(array: str) -> str:
    return f"(select one from pg_catalog.unnest({array}) as one order by random() limit 1)"


def _some(array: str, count: int) -> str:
    some = f"select one from pg_catalog.unnest({array}) as one order by random() limit {count}"
    return f"(select pg_catalog.array_agg(one) from ({some}) as part)"


def _objects(document: str) -> str:
    """The document, or an empty one where it is no object."""
    return f"case when pg_catalog.jsonb_typeof({document}) = 'object' then {document} else '{{}}' end"


def _members(document: str, count: int) -> str:
    some = f"select * from pg_catalog.jsonb_each({_objects(document)}) order by random() limit {count}"
    return f"(select pg_catalog.jsonb_object_agg(key, value) from ({some}) as part)"


def _member(document: str) -> str:
    return f"(select value from pg_catalog.jsonb_each({_objects(document)}) order by random() limit 1)"
