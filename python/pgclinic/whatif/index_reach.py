"""Which statements a change of indexes can reach: those that name a table whose indexes change, or one that partitions
or foreign keys tie to it.

Others would be run for nothing. And they would seem to change: what a write visits grows from one try to the next by
the rows that were rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pgclinic.pg.query_files import query
from pgclinic.pg.session import Session

_WORD = re.compile(r"[^\W\d]\w*")


class IndexReach:
    """Of the changes that are made in a session, by what the catalog says. Raises QueryError everywhere."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._major = session.version_num // 10_000
        self._functions: frozenset[str] | None = None
        self._indexes: frozenset[tuple[int, int]] = frozenset()

    def look(self) -> None:
        """Remember the indexes that there are."""
        self._indexes = self._all_indexes()

    def tables(self) -> frozenset[str]:
        """The bare names of the tables that the indexes reach which came or went since ``look``."""
        changed = {table for _, table in self._indexes ^ self._all_indexes()}
        rows = self._session.rows(query("tied_tables", self._major), {"tables": sorted(changed)})
        return frozenset(str(name) for (name,) in rows)

    def can_reach(self, tables: frozenset[str], text: str, plan: Mapping[str, Any], *, has_triggers: bool) -> bool:
        """Whether a statement with this plan reads or writes one of the tables.

        It may by what no plan shows: a trigger, or a function that somebody wrote.
        """
        return has_triggers or not tables.isdisjoint(_relations(plan)) or self._calls_own_function(text)

    def _calls_own_function(self, text: str) -> bool:
        if self._functions is None:
            found = self._session.rows(query("own_functions", self._major))
            self._functions = frozenset(str(name).lower() for (name,) in found)
        return not self._functions.isdisjoint(word.lower() for word in _WORD.findall(text))

    def _all_indexes(self) -> frozenset[tuple[int, int]]:
        return frozenset(
            (int(index), int(table)) for index, table in self._session.rows(query("table_indexes", self._major))
        )


def _relations(plan: Mapping[str, Any]) -> Iterator[str]:
    if "Relation Name" in plan:
        yield str(plan["Relation Name"])
    for child in plan.get("Plans", ()):
        yield from _relations(child)
