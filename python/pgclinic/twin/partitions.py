"""Partitions: what their bounds say of values, and which rows are made for a partitioned table as a whole."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from pgclinic.model.twin import ColumnStatistics, TwinColumn, TwinTable

_KEY = re.compile(r"(RANGE|LIST|HASH) \((.+)\)", re.IGNORECASE | re.DOTALL)
_FROM_TO = re.compile(r"FROM \('?([^',()]*)'?\) TO \('?([^',()]*)'?\)", re.IGNORECASE)
_IN = re.compile(r"IN \('?([^',()]*)'?[,)]", re.IGNORECASE)
_MANY = 10


def partition_key(table: TwinTable) -> tuple[str, str] | None:
    """How a partitioned table is divided and the text of its key: ``("range", "created_at")``."""
    match = _KEY.match(table.partition_by or "")
    return None if match is None else (match[1].lower(), match[2].strip())


def bounds_within(bound: str | None) -> tuple[str, ...]:
    """The two ends of a range of one column, or the first value of a list; () where there is none of these."""
    if bound is None:
        return ()
    if match := _FROM_TO.search(bound):
        ends = (match[1], match[2])
        return () if {"MINVALUE", "MAXVALUE"} & set(ends) else ends
    match = _IN.search(bound)
    return (match[1],) if match else ()


def leaves_of(table: TwinTable, tables: Mapping[str, TwinTable]) -> tuple[TwinTable, ...]:
    """All partitions below a table that have rows of their own."""
    found: list[TwinTable] = []
    for other in tables.values():
        if other.parent == table.name:
            found += leaves_of(other, tables) if other.is_partitioned else (other,)
    return tuple(found)


def united(table: TwinTable, leaves: tuple[TwinTable, ...]) -> TwinTable:
    """A partitioned table as one: the rows of all partitions, with the statistics of the largest.

    For partitions by hash, which differ in nothing but the values of the key.
    """
    largest = max(leaves, key=lambda leaf: leaf.rows or 0.0)
    columns = {column.name: column for column in largest.columns}
    return replace(
        table,
        columns=tuple(_united(column, columns.get(column.name), len(leaves)) for column in table.columns),
        rows=sum(leaf.rows or 0.0 for leaf in leaves),
        pages=sum(leaf.pages for leaf in leaves),
        pages_now=sum(leaf.pages_now for leaf in leaves),
        keys=table.keys or largest.keys,
        foreign_keys=table.foreign_keys or largest.foreign_keys,
        checks=table.checks or largest.checks,
    )


def _united(column: TwinColumn, of_leaf: TwinColumn | None, leaves: int) -> TwinColumn:
    found = of_leaf.statistics if of_leaf is not None else None
    if found is None:
        return column
    if column.statistics is not None:
        # Those of all partitions, but for the position, which is that in one after the other.
        return replace(column, statistics=replace(column.statistics, correlation=found.correlation))
    # A value of the key lies in one partition, so there are others in each; few values are those of every partition.
    many = found.distinct > _MANY and not found.common_values
    return replace(column, statistics=_times(found, leaves) if many else found)


def _times(found: ColumnStatistics, leaves: int) -> ColumnStatistics:
    return replace(found, distinct=found.distinct * leaves)
