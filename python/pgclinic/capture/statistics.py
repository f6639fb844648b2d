"""Planner statistics: of columns, of expressions of indexes, of several columns, as far as they may be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pgclinic.capture.catalog import Catalog
from pgclinic.capture.reading import ReadingSession, Record
from pgclinic.model.twin import ColumnStatistics, Gap, JointStatistics
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError
from pgclinic.sql.quoting import identifier

READ_ALL_DATA_SINCE = 14


@dataclass(frozen=True)
class Statistics:
    """By name of the table or index, column and whether the statistics are of a table with its children; by table."""

    columns: dict[tuple[str, str, bool], ColumnStatistics]
    joint: dict[int, tuple[JointStatistics, ...]]
    gaps: tuple[Gap, ...]


def read_statistics(reading: ReadingSession, catalog: Catalog) -> Statistics:
    """All statistics that this role may read; what it may not is a gap, with the GRANT that would help."""
    from_catalog = bool(catalog.server["statistics"])
    major = reading.major
    text = query("twin_statistics_catalog", major) if from_catalog else query("twin_statistics", major)
    columns = {(row["name"], row["column"], row["inherited"]): column_statistics(row) for row in reading.records(text)}
    joint, joint_gap = _read_joint(reading, catalog)
    gaps = [*_column_gaps(reading, catalog, from_catalog), *([joint_gap] if joint_gap else [])]
    return Statistics(columns, joint, tuple(gaps))


def column_statistics(row: Record) -> ColumnStatistics:
    """One row of either query: the catalog has single numbers as lists."""
    correlation = row["correlations"][0] if row.get("correlations") else row.get("correlation")
    empty = row["range_empty_shares"][0] if row.get("range_empty_shares") else row.get("range_empty_share")
    return ColumnStatistics(
        null_share=row["null_share"],
        width=row["width"],
        distinct=row["distinct"],
        common_values=tuple(row["common_values"] or ()),
        common_shares=tuple(row["common_shares"] or ()),
        # A range has no histogram of whole values, but one of its bounds.
        histogram=tuple(row["histogram"] or row["range_bounds"] or ()),
        correlation=correlation,
        common_elements=tuple(row["common_elements"] or ()),
        # Behind the shares of the elements stand the least, the largest and perhaps the share of null elements.
        common_element_shares=tuple(row["common_element_shares"] or ())[: len(row["common_elements"] or ())],
        element_counts=tuple(row["element_counts"] or ()),
        range_lengths=tuple(row["range_lengths"] or ()),
        range_empty_share=empty,
    )


def _column_gaps(reading: ReadingSession, catalog: Catalog, from_catalog: bool) -> list[Gap]:
    """Tables whose statistics are hidden from this role, and tables that have none."""
    tables = [row for row in catalog.relations.values() if row["kind"] in ("r", "p")]
    role = catalog.server["role"]
    gaps = []
    if not from_catalog:
        unreadable = tuple(row["name"] for row in tables if not row["is_readable"])
        filtered = tuple(row["name"] for row in tables if row["is_readable"] and row["is_filtered"])
        all_data = f"grant pg_read_all_data to {identifier(role)}" if reading.major >= READ_ALL_DATA_SINCE else None
        if unreadable:
            grant = all_data or f"grant select on {', '.join(unreadable)} to {identifier(role)}"
            gaps.append(Gap(what="statistics", problem="no right to read", tables=unreadable, grant=grant))
        if filtered:
            grant = all_data or f"alter role {identifier(role)} bypassrls"
            gaps.append(Gap(what="statistics", problem="row security", tables=filtered, grant=grant))
    never = tuple(row["name"] for row in tables if never_analyzed(row) and row["pages"] + row["dead_rows"] > 0)
    if never:
        gaps.append(Gap(what="statistics", problem="never analyzed", tables=never, grant=f"analyze {', '.join(never)}"))
    return gaps


def never_analyzed(row: Record) -> bool:
    """Whether pg_class does not know how many rows a table has; before 14 it has 0 then."""
    return row["rows"] < 0 or (row["rows"] == 0 and row["pages"] == 0 and not row["is_analyzed"])


def _read_joint(reading: ReadingSession, catalog: Catalog) -> tuple[dict[int, tuple[JointStatistics, ...]], Gap | None]:
    parts = {row["name"]: row["relation"] for row in catalog.parts if row["kind"] == "statistics"}
    known = {name: oid for name, oid in parts.items() if oid in catalog.relations}
    if not known:
        return {}, None
    major = reading.major
    from_catalog = bool(catalog.server["joint_statistics"])
    text = query("twin_joint_statistics", major) if from_catalog else query("twin_joint_statistics_owned", major)
    try:
        rows = reading.records(text)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return {}, Gap(what="extended statistics", problem=error.message.splitlines()[0], tables=_names(catalog, known))
    found: dict[int, list[JointStatistics]] = {}
    for row in rows:
        relation = catalog.relations.get(row["relation"])
        if relation is not None and (row["inherited"] is None or row["inherited"] == (relation["kind"] == "p")):
            found.setdefault(row["relation"], []).append(_joint(catalog, row))
    hidden = {} if from_catalog else {name: oid for name, oid in known.items() if name not in {r["name"] for r in rows}}
    gap = None
    if hidden:
        role = identifier(catalog.server["role"])
        grant = f"grant pg_read_all_data to {role}" if major >= READ_ALL_DATA_SINCE else None
        gap = Gap(what="extended statistics", problem="no right to read", tables=_names(catalog, hidden), grant=grant)
    return {oid: tuple(one) for oid, one in found.items()}, gap


def _names(catalog: Catalog, statistics: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted({catalog.relation_name(oid) for oid in statistics.values()}))


def _joint(catalog: Catalog, row: Record) -> JointStatistics:
    by_number = {column["number"]: column["name"] for column in catalog.columns[row["relation"]]}
    names = [by_number[number] for number in row["columns"] if number in by_number]
    items: list[list[str | None]] = row["items"] or []
    nulls: list[list[bool]] = row["nulls"] or []
    values = tuple(
        tuple(None if is_null else value for value, is_null in zip(item, flags, strict=True))
        for item, flags in zip(items, nulls, strict=True)
    )
    # Expressions stand behind the columns, numbered -1, -2 and so on.
    widest = max((len(value) for value in values), default=len(names))
    expressions = [f"expression {number}" for number in range(1, widest - len(names) + 1)]
    return JointStatistics(
        name=row["name"],
        columns=(*names, *expressions),
        common_values=values,
        common_shares=tuple(float(share) for share in row["shares"] or ()),
        distinct={
            ", ".join(_column(by_number, number) for number in numbers): value
            for numbers, value in _numbered(row["distinct"], ", ")
        },
        dependencies={
            " => ".join((", ".join(_column(by_number, one) for one in left), _column(by_number, right))): value
            for (*left, right), value in _numbered(row["dependencies"], ", | => ")
        },
    )


def _column(by_number: dict[int, str], number: int) -> str:
    return by_number.get(number, f"expression {-number}")


def _numbered(text: str | None, separators: str) -> list[tuple[list[int], float]]:
    """``{"1, 2": 11}`` of pg_ndistinct and ``{"1 => 2": 0.5}`` of pg_dependencies: column numbers and a value each."""
    pairs = re.findall(r'"([^"]+)": *([-+0-9.eE]+)', text or "")
    return [([int(number) for number in re.split(separators, numbers)], float(value)) for numbers, value in pairs]


def expression_statistics(statistics: Statistics, index: str, names: list[Any]) -> tuple[ColumnStatistics | None, ...]:
    """Statistics of the keys of an index by the names of its columns, None where a key is a column of the table."""
    found = tuple(None if name is None else statistics.columns.get((index, name, False)) for name in names)
    return found if any(found) else ()
