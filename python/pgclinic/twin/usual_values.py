"""Values that an application may write into its statements: common ones, and those that the schema names."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from pgclinic.model.twin import Twin
from pgclinic.pg.session import Session
from pgclinic.sql.expression_constants import constants_by_predicate
from pgclinic.sql.quoting import name_parts, quoted
from pgclinic.sql.statement_places import Place, PlaceUse, TableSource, TypedStatement
from pgclinic.twin.index_constants import Constants, index_constants
from pgclinic.twin.parameters import Domains
from pgclinic.twin.plain_values import Value

#: So many values of a column are known by how common they are, and so many of them are tried where a check refuses one.
_COMMON = 100
_TRIED = 4
#: So many keys of documents are tried.
_KEYS = 6
#: The value is made of some parts of the row's value.
OF_PARTS = frozenset((PlaceUse.CONTAINS, PlaceUse.OVERLAPS, PlaceUse.SEARCH))


class UsualValues:
    """By the rows and the schema of a twin. ``table`` gives a mention of a table as FROM has it."""

    def __init__(
        self, session: Session, twin: Twin, choices: random.Random, table: Callable[[TableSource], str]
    ) -> None:
        self._session = session
        self._twin = twin
        self._random = choices
        self._table = table
        self._domains = Domains(twin)
        self._tables = {table.name: table for table in twin.tables}
        self._common: dict[tuple[str, str], list[tuple[str, float]]] = {}

    def named_by_schema(self, statement: TypedStatement) -> tuple[Constants, ...]:
        """What the schema names for places of the statement, the likeliest first."""
        return index_constants(statement, self._twin)

    def other_than(self, place: Place, value: Value, searched: Value) -> Value:
        """``value``, or another one of the column where it is what was ``searched`` for."""
        if value != searched or place.table is None or place.column is None:
            return value
        others = [one for one in self._of_column(place.table, place.column) if one[0] != searched]
        if not others:
            return value
        return self._random.choices([one for one, _ in others], [rows for _, rows in others])[0]

    def _of_column(self, table: str, column: str) -> list[tuple[str, float]]:
        """Its most common values with the numbers of their rows."""
        key = (table, column)
        if key not in self._common:
            source = TableSource(number=0, table=table, alias="one")
            rows = self._session.rows(
                f"select {quoted(column)}::text, count(*)::float8 from {self._table(source)}"
                f" where {quoted(column)} is not null group by 1 order by 2 desc, 1 limit {_COMMON}"
            )
            self._common[key] = [(str(value), float(count)) for value, count in rows]
        return self._common[key]

    def keys_of_documents(self, statement: TypedStatement, place: Place) -> list[Constants]:
        """The most common keys of documents at a place, one after the other: an application names one of them."""
        if place.source is None or place.expression is None or "$" in place.expression:
            return []
        source = statement.sources[place.source]
        document = f"pg_catalog.to_jsonb({place.expression})"
        rows = self._session.rows(
            f"select key, count(*) from {self._table(source)} cross join lateral pg_catalog.jsonb_object_keys("
            f"case when pg_catalog.jsonb_typeof({document}) = 'object' then {document} else '{{}}' end) as key"
            f" group by key order by 2 desc, 1 limit {_KEYS}"
        )
        return [((place.number, str(key)),) for key, _ in rows]

    def checked_assignments(self, statement: TypedStatement) -> list[Constants]:
        """Values for what a statement sets in a column that a check relates to others, one after the other."""
        return [
            ((place.number, value),)
            for place in statement.places
            if place.use is PlaceUse.ASSIGN and place.table is not None and place.column is not None
            for value, _ in (self._of_column(place.table, place.column) if self._is_checked(place) else ())[:_TRIED]
        ]

    def special_indexes(self, statement: TypedStatement) -> frozenset[str]:
        """Indexes, without their schemas, that serve searches as those of the statement alone: GIN and the like."""
        searched = [place for place in statement.places if place.use in OF_PARTS | {PlaceUse.ELEMENT}]
        return frozenset(
            name_parts(index.name)[-1]
            for place in searched
            if place.table in self._tables and place.column is not None
            for index in self._tables[place.table].indexes
            if index.method != "btree" and any(name_parts(key) == (place.column,) for key in index.keys)
        )

    def common_values(self, statement: TypedStatement) -> list[Constants]:
        """Values of one of several columns that are compared, one after the other: an application names them."""
        places = [place for place in statement.places if place.use is PlaceUse.EQUAL and place.column is not None]
        return [
            ((place.number, value),)
            for place in (places if len(places) > 1 else ())
            # Numbers that identify rows are what an application is asked with.
            if not self._domains.is_key(str(place.table), str(place.column))
            for value, rows in self._of_column(str(place.table), str(place.column))[:_KEYS]
            if rows > 1
        ]

    def states(self, statement: TypedStatement) -> list[Constants]:
        """Values for what a statement sets in a column that partial indexes are made for, one after the other."""
        found: list[Constants] = []
        for place in statement.places:
            table = self._tables.get(str(place.table))
            if place.use is not PlaceUse.ASSIGN or table is None or place.column is None:
                continue
            predicates = [str(index.predicate) for index in table.indexes if index.predicate]
            named = [
                value for predicate in predicates for value in constants_by_predicate(quoted(place.column), predicate)
            ]
            if named:
                common = [value for value, _ in self._of_column(table.name, place.column)[:_TRIED]]
                found += [((place.number, value),) for value in dict.fromkeys([*named, *common])]
        return found

    def _is_checked(self, place: Place) -> bool:
        checks = self._tables[str(place.table)].checks if place.table in self._tables else ()
        return any(re.search(rf"\b{re.escape(str(place.column))}\b", check) for check in checks)
