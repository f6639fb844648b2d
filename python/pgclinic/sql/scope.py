"""Which table and column a name in a statement means, as far as the statement and the schema say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pgclinic.sql.known_functions import KnownFunction
from pgclinic.sql.nodes import String


@dataclass(frozen=True)
class KnownColumn:
    """``type`` is what a value is cast to, ``element`` that of an array's elements; neither has a length."""

    name: str
    type: str
    element: str | None = None


@dataclass(frozen=True)
class KnownTable:
    """``name`` is qualified and quoted where SQL wants it."""

    name: str
    columns: Mapping[str, KnownColumn]


class KnownSchema:
    """Tables by the names that statements may use; ``search_path`` are the schemas of unqualified ones, in order.

    ``functions`` are those of the application.
    """

    def __init__(
        self,
        tables: Mapping[tuple[str, str], KnownTable],
        search_path: Iterable[str] = ("public",),
        functions: Iterable[KnownFunction] = (),
    ) -> None:
        self._tables = dict(tables)
        self._path = tuple(search_path)
        self._functions: dict[str, list[KnownFunction]] = {}
        for function in functions:
            self._functions.setdefault(function.name, []).append(function)
        self._by_name: dict[str, list[KnownTable]] = {}
        for (_, name), table in tables.items():
            self._by_name.setdefault(name, []).append(table)

    def find(self, schema: str | None, name: str) -> KnownTable | None:
        """The table; where the path does not have it, the only one of that name in any schema."""
        if schema is not None:
            return self._tables.get((schema, name))
        for one in self._path:
            if (one, name) in self._tables:
                return self._tables[one, name]
        found = self._by_name.get(name, [])
        return found[0] if len(found) == 1 else None

    def function(self, name: str, arguments: int) -> KnownFunction | None:
        """The function that ``name``, qualified or not, calls with so many arguments; None if several may be meant."""
        schema, _, bare = name.rpartition(".")
        found = [
            function
            for function in self._functions.get(bare, ())
            if function.takes(arguments) and (not schema or function.schema in (schema, None))
        ]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Origin:
    """A column of one mention of a table. ``source`` numbers the mentions in the statement."""

    source: int
    alias: str
    table: KnownTable
    column: KnownColumn


@dataclass
class Entry:
    """What one alias of a FROM clause offers. ``is_complete`` means that no other column can be behind it."""

    alias: str
    columns: dict[str, Origin | None]
    is_complete: bool = True


@dataclass
class Scope:
    """The names that an expression sees; what is not here is looked for in ``outer``."""

    outer: Scope | None = None
    entries: list[Entry] = field(default_factory=list)
    queries: dict[str, dict[str, Origin | None]] = field(default_factory=dict)

    def query_named(self, name: str) -> dict[str, Origin | None] | None:
        """The columns of a WITH query."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.queries:
                return scope.queries[name]
            scope = scope.outer
        return None

    def find(self, reference: Any) -> Origin | None:
        """Where a ColumnRef leads; None for what is no column of a table of the schema."""
        names = [str(part.sval) for part in reference.fields if isinstance(part, String)]
        if len(names) != len(reference.fields) or not names:
            return None
        scope: Scope | None = self
        while scope is not None:
            found = scope._here(names)
            if found is not None:
                return found[0]
            scope = scope.outer
        return None

    def _here(self, names: list[str]) -> tuple[Origin | None] | None:
        """The origin in a tuple where the name is known here, though perhaps of no table."""
        if len(names) == 1:
            for entry in self.entries:
                if names[0] in entry.columns:
                    return (entry.columns[names[0]],)
            return None
        alias, column = names[-2], names[-1]
        for entry in self.entries:
            if entry.alias == alias:
                return (entry.columns.get(column),)
        return None
