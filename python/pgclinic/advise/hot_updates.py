"""Which updates of the workload an index keeps from being HOT: those that assign a column of it. Pure.

Whether an update that changes no indexed column is HOT depends on the room in its page as well; what is counted here is
how many could be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pgclinic.model.advise import IndexDefinition
from pgclinic.model.twin import Twin
from pgclinic.sql.index_text import assigned_columns, columns_named
from pgclinic.twin.calibrate import CalibratedStatement

#: From this version on BRIN does not keep updates from being HOT.
_BRIN_SINCE = 160000


@dataclass(frozen=True)
class _Updates:
    """One statement that updates a table, by the columns that it assigns."""

    table: str
    columns: frozenset[str]
    calls: float


class HotUpdates:
    """Of the statements of one twin."""

    def __init__(self, twin: Twin, statements: Iterable[CalibratedStatement]) -> None:
        self._ignores_brin = twin.version_num >= _BRIN_SINCE
        self._indexed = _indexed_columns(twin, ignores_brin=self._ignores_brin)
        self._updates = tuple(
            _Updates(typed.target, columns, float(one.statement.counted.calls))
            for one in statements
            if (typed := one.statement.typed).target is not None and (columns := assigned_columns(typed.text))
        )

    def without_and_with(self, index: IndexDefinition) -> tuple[float, float]:
        """Calls of updates of its table that change no indexed column, without the index and with it."""
        own = [one for one in self._updates if one.table == index.table]
        hot = [one for one in own if not one.columns & self._indexed.get(index.table, frozenset())]
        before = sum(one.calls for one in hot)
        if index.method == "brin" and self._ignores_brin:
            return before, before
        columns = _columns_of(index)
        return before, sum(one.calls for one in hot if not one.columns & columns)


def _columns_of(index: IndexDefinition) -> frozenset[str]:
    predicate = (f"({index.predicate})",) if index.predicate else ()
    return columns_named((*index.keys, *index.include, *predicate))


def _indexed_columns(twin: Twin, *, ignores_brin: bool) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for table in twin.tables:
        columns: frozenset[str] = frozenset()
        known = {column.name for column in table.columns}
        for index in table.indexes:
            if index.method == "brin" and ignores_brin:
                continue
            plain = frozenset(key for key in index.keys if key in known)
            others = tuple(f"({key})" for key in index.keys if key not in known)
            predicate = (f"({index.predicate})",) if index.predicate else ()
            columns |= plain | columns_named((*others, *predicate))
        found[table.name] = columns
    return found
