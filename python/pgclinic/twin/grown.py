"""A twin -> the twin of the same database when it has grown: rows, keys and what refers to them. Pure.

The database grows as a business does that has more customers: a table has ``factor`` times the rows, a customer as many
orders as before. So what identifies rows, and every column that refers to it by a foreign key, has ``factor`` times the
values, each as often as before; other columns keep their values and shares. Numbers that identify rows fill
``factor`` times their range. Times keep theirs: as many days, with more in each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.grow import KeptBecause, KeptTable
from pgclinic.model.twin import ColumnStatistics, JointStatistics, Twin, TwinColumn, TwinTable
from pgclinic.sql.quoting import name_parts
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.choice import Choice
from pgclinic.twin.ordinals import INTEGERS
from pgclinic.twin.parameters import Domains, RunnableStatement, runnable_statements
from pgclinic.twin.partitions import partition_key
from pgclinic.twin.synthesise import KEPT_WHOLE_ROWS, rows_of

#: The largest number of each type of key.
_LARGEST = {"int2": 2**15 - 1, "int4": 2**31 - 1, "oid": 2**32 - 1, "int8": 2**63 - 1}
_RANGES = frozenset((PlaceUse.LOW, PlaceUse.HIGH))
#: Uses whose values are counted to find the common ones.
_COUNTED = frozenset((PlaceUse.EQUAL, PlaceUse.ONE_OF, PlaceUse.ARRAY))

Column = tuple[str, str]


@dataclass(frozen=True)
class GrowthPlan:
    """Which tables of a twin grow, and which columns identify their rows or refer to them."""

    growing: frozenset[str]
    kept: tuple[KeptTable, ...]
    keys: frozenset[Column]

    def is_key(self, table: str, column: str) -> bool:
        """Whether a column identifies rows of a table that grows. One of a view is taken for the one of that name."""
        if table in self.growing or table in {one.table for one in self.kept}:
            return (table, column) in self.keys
        return any(column == name for _, name in self.keys)


def growth_plan(
    twin: Twin, factor_max: float, fixed: Collection[str] = (), growing: Collection[str] = ()
) -> GrowthPlan:
    """What grows, up to ``factor_max`` times the rows: tables of reference data only where they are among ``growing``.

    Raises UsageError: a table of ``fixed`` or ``growing`` is not there or is among both, or none grows.
    """
    roots = _roots(twin)
    asked = {roots[_named(twin, name, "--fixed")] for name in fixed}
    wanted = {roots[_named(twin, name, "--growing")] for name in growing}
    for name in sorted(asked & wanted):
        raise UsageError(f"{name} can be either --fixed or --growing")
    kept = {table.name: KeptBecause.ASKED for table in twin.tables if roots[table.name] in asked}
    kept |= {name: KeptBecause.EMPTY for name in _empty(twin) if name not in kept}
    kept |= {name: KeptBecause.PARTITIONS for name in _full_partitions(twin) if name not in kept}
    kept |= dict.fromkeys(_reference(twin, kept, roots, wanted), KeptBecause.REFERENCE)
    while True:
        plan = _plan(twin, kept)
        full = [name for name in plan.growing if _has_full_key(twin, plan, name, factor_max)]
        if not full:
            break
        kept |= dict.fromkeys(full, KeptBecause.KEY_RANGE)
    if not plan.growing:
        raise UsageError(f"no table of {twin.database} grows", hint="name fewer tables by --fixed")
    return plan


def grown(twin: Twin, plan: GrowthPlan, factor: float) -> Twin:
    """The twin with ``factor`` times the rows, which are to be built at scale 1."""
    if factor == 1.0:
        return twin
    tables = tuple(_grown(table, plan, factor) if table.name in plan.growing else table for table in twin.tables)
    more = sum(_bytes(table) for table in tables) - sum(_bytes(table) for table in twin.tables)
    return replace(twin, tables=tables, database_bytes=max(0, round(twin.database_bytes + more)))


def grown_choice(statement: RunnableStatement, choice: Choice, plan: GrowthPlan, factor: float) -> Choice:
    """How the values of a statement are drawn when the database has grown.

    A range of numbers that identify rows has as many rows as before, one of anything else the same share of them. The
    ten customers with the most orders are the ten times ``factor`` that have as many; the ten most common cities stay.
    """
    uses = _RANGES if choice.ranks is None and choice.skew is None else _RANGES | _COUNTED
    searched = [place for place in statement.typed.places if place.use in uses and place.column is not None]
    ranges = [place for place in searched if place.use in _RANGES]
    counted = [place for place in searched if place.use in _COUNTED]

    def are_keys(places: Sequence[Place]) -> bool:
        return bool(places) and all(plan.is_key(str(place.table), str(place.column)) for place in places)

    if choice.width is not None and are_keys(ranges):
        choice = replace(choice, width=choice.width / factor)
    return replace(choice, copies=factor) if are_keys(counted) else choice


def table_rows(twin: Twin) -> dict[str, float]:
    """Rows by table, of tables and partitions that have rows of their own."""
    return {table.name: rows_of(table) for table in twin.tables if not table.is_partitioned}


# What grows


def _named(twin: Twin, name: str, option: str) -> str:
    """The table by its name with or without its schema. Raises UnknownNameError."""
    for table in twin.tables:
        if name in (table.name, name_parts(table.name)[-1]):
            return table.name
    known = {name_parts(table.name)[-1] for table in twin.tables} | {table.name for table in twin.tables}
    raise UnknownNameError("table", name, known, where=option)


def _empty(twin: Twin) -> Iterator[str]:
    rows = table_rows(twin)
    for table in twin.tables:
        if table.name in rows and rows[table.name] < 1:
            yield table.name


def _full_partitions(twin: Twin) -> Iterator[str]:
    """Partitions by ranges of a number that is a key: more rows have larger numbers, which no partition takes."""
    tables = {table.name: table for table in twin.tables}
    for table in twin.tables:
        above = tables.get(table.parent or "")
        while above is not None:
            key = partition_key(above)
            if key is not None and key[0] != "hash" and _is_number_key(above, key[1].strip('"')):
                yield table.name
                break
            above = tables.get(above.parent or "")


def _is_number_key(table: TwinTable, name: str) -> bool:
    column = next((one for one in table.columns if one.name == name), None)
    return column is not None and column.base_type in INTEGERS and any(name in key.columns for key in table.keys)


def _roots(twin: Twin) -> dict[str, str]:
    """The table that each partition belongs to in the end; a table that is none belongs to itself."""
    parents = {table.name: table.parent for table in twin.tables}

    def root(name: str) -> str:
        above = parents.get(name)
        return name if above is None or above not in parents else root(above)

    return {name: root(name) for name in parents}


def _reference(
    twin: Twin, kept: Mapping[str, KeptBecause], roots: Mapping[str, str], growing: Collection[str]
) -> Iterator[str]:
    """Tables with few rows, no statement that inserts, and no foreign key to a growing table; not ``growing`` ones."""
    inserted = {roots.get(name, name) for name in inserted_tables(twin)}
    rows: dict[str, float] = {}
    parents: dict[str, set[str]] = {}
    for name, amount in table_rows(twin).items():
        rows[roots[name]] = rows.get(roots[name], 0.0) + amount
    for table in twin.tables:
        above = {roots.get(key.parent, key.parent) for key in table.foreign_keys} - {roots[table.name]}
        parents.setdefault(roots[table.name], set()).update(above)
    small = {name for name in rows if rows[name] <= KEPT_WHOLE_ROWS and name not in inserted and name not in growing}
    while True:
        still = {name for name in small if parents[name] <= small | kept.keys()}
        if still == small:
            break
        small = still
    yield from (table.name for table in twin.tables if roots[table.name] in small and table.name not in kept)


def inserted_tables(twin: Twin) -> frozenset[str]:
    """Tables that a statement of the workload inserts rows into."""
    runnable, _ = runnable_statements(twin)
    return frozenset(
        one.typed.target
        for one in runnable
        if one.typed.target is not None and one.typed.verb in ("insert", "merge") and one.counted.rows > 0
    )


def _plan(twin: Twin, kept: Mapping[str, KeptBecause]) -> GrowthPlan:
    tables = {table.name: table for table in twin.tables}
    growing = frozenset(tables.keys() - kept.keys())
    rows = table_rows(twin)
    domains = Domains(twin)
    identifying: set[Column] = set()
    for table in sorted(twin.tables, key=lambda one: domains.depth(one.name)):
        if table.name not in growing:
            continue
        above = _above(table, tables)
        for keys in (table.keys, above.keys if above is not None else ()):
            for key in keys:
                if not any(domains.of(table.name, name) in identifying for name in key.columns):
                    identifying.add(domains.of(table.name, _growing_column(table, key.columns, tables, growing)))
    return GrowthPlan(
        growing=growing,
        kept=tuple(KeptTable(table=name, rows=rows.get(name, 0.0), because=why) for name, why in sorted(kept.items())),
        keys=frozenset(
            (table.name, column.name)
            for table in twin.tables
            if table.name in growing
            for column in table.columns
            if domains.of(table.name, column.name) in identifying
        ),
    )


def _above(table: TwinTable, tables: Mapping[str, TwinTable]) -> TwinTable | None:
    return tables.get(table.parent or "")


def _growing_column(
    table: TwinTable, columns: tuple[str, ...], tables: Mapping[str, TwinTable], growing: frozenset[str]
) -> str:
    """The column of a key that numbers the rows within their group: the one with the most values, of no other table.

    More customers of as many districts have higher numbers in each.
    """
    of_others = {
        name
        for foreign in table.foreign_keys
        if foreign.parent in tables and foreign.parent not in growing
        for name in foreign.columns
    }
    statistics = {column.name: column.statistics for column in table.columns}

    def distinct(name: str) -> float:
        found = statistics.get(name)
        if found is None:
            return 0.0
        return found.distinct if found.distinct >= 0 else -found.distinct * max(rows_of(table), 1.0)

    free = [name for name in columns if name not in of_others] or list(columns)
    return max(free, key=distinct)


def _has_full_key(twin: Twin, plan: GrowthPlan, name: str, factor: float) -> bool:
    (table,) = (table for table in twin.tables if table.name == name)
    for column in table.columns:
        largest = _LARGEST.get(column.base_type)
        if (name, column.name) in plan.keys and largest is not None and column.statistics is not None:
            low, high = _range(column.statistics)
            if low + (high - low + 1) * factor > largest:
                return True
    return False


# Statistics of a table that has grown


def _grown(table: TwinTable, plan: GrowthPlan, factor: float) -> TwinTable:
    keys = {column for owner, column in plan.keys if owner == table.name}
    return replace(
        table,
        rows=table.rows * factor if table.rows is not None and table.rows > 0 else table.rows,
        pages=_more(table.pages, factor),
        pages_now=_more(table.pages_now, factor),
        all_visible=_more(table.all_visible, factor),
        toast_bytes=_more(table.toast_bytes, factor),
        dead_rows=_more(table.dead_rows, factor),
        columns=tuple(_grown_column(one, factor) if one.name in keys else one for one in table.columns),
        indexes=tuple(
            replace(
                index,
                pages=_more(index.pages, factor),
                pages_now=_more(index.pages_now, factor),
                rows=index.rows * factor,
            )
            for index in table.indexes
        ),
        joint=tuple(_grown_joint(one, keys, factor) for one in table.joint),
    )


def _more(amount: int, factor: float) -> int:
    return math.ceil(amount * factor)


def _bytes(table: TwinTable) -> float:
    pages = (table.pages_now or table.pages) + sum(index.pages_now or index.pages for index in table.indexes)
    return pages * 8192.0 + table.toast_bytes


def _grown_column(column: TwinColumn, factor: float) -> TwinColumn:
    found = column.statistics
    if found is None:
        return column
    distinct = found.distinct * factor if found.distinct > 0 else found.distinct
    number = _number(found) if column.base_type in INTEGERS or column.base_type == "numeric" else None
    values, shares = _common(found, factor, is_number=number is not None)
    histogram = found.histogram
    if number is not None and histogram:
        low, high = number
        histogram = tuple(str(_moved(int(text), low, factor)) for text in histogram)
        # A sequence without gaps has none when it has grown.
        last = low + max(1, math.floor((high - low + 1) * factor)) - 1
        histogram = (*histogram[:-1], str(last)) if histogram[-1:] and int(histogram[-1]) < last else histogram
    grown_found = replace(
        found,
        distinct=max(distinct, 1.0) if found.distinct > 0 else distinct,
        common_values=values,
        common_shares=shares,
        histogram=histogram,
    )
    return replace(column, statistics=grown_found)


def _common(found: ColumnStatistics, factor: float, *, is_number: bool) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Common values with their share of a table that has grown: each is as often as before.

    Numbers that are common come again for each part of the range that is new; of a table that shrinks a part is left.
    """
    pairs = list(zip(found.common_values, found.common_shares, strict=False))
    if factor < 1.0:
        kept = max(1, round(len(pairs) * factor)) if pairs else 0
        step = len(pairs) / kept if kept else 1.0
        pairs = [pairs[int(at * step)] for at in range(kept)]
    if not is_number:
        return tuple(text for text, _ in pairs), tuple(min(share / factor, 1.0) for _, share in pairs)
    low, high = _range(found)
    copies = max(1, round(factor))
    spread: dict[int, float] = {}
    for text, share in pairs:
        for copy in range(copies):
            at = _moved(int(text), low, factor / copies) + copy * round((high - low + 1) * factor / copies)
            spread.setdefault(at, share / factor)
    ordered = sorted(spread.items(), key=lambda pair: (-pair[1], pair[0]))
    total = sum(spread.values())
    most = max(1.0 - found.null_share, 0.0)
    shrink = most / total if total > most else 1.0
    return tuple(str(value) for value, _ in ordered), tuple(share * shrink for _, share in ordered)


def _number(found: ColumnStatistics) -> tuple[int, int] | None:
    """The smallest and the largest value, None where one is no whole number, or there are none."""
    try:
        return _range(found) if found.histogram or found.common_values else None
    except ValueError:
        return None


def _range(found: ColumnStatistics) -> tuple[int, int]:
    """Raises ValueError: a value is no whole number."""
    numbers = [int(text) for text in (*found.histogram, *found.common_values)]
    return (min(numbers), max(numbers)) if numbers else (0, 0)


def _moved(value: int, low: int, factor: float) -> int:
    return low + math.floor((value - low) * factor)


def _grown_joint(found: JointStatistics, keys: set[str], factor: float) -> JointStatistics:
    """Of columns that identify rows there are more combinations, and none of them is as common as before."""
    if not keys & set(found.columns):
        return found
    return replace(
        found,
        common_values=(),
        common_shares=(),
        distinct={
            names: count * factor if _names(names, found) & keys else count for names, count in found.distinct.items()
        },
    )


def _names(text: str, found: JointStatistics) -> set[str]:
    """The columns of "a, b"; all of them where the text has numbers in place of names."""
    names = {part.strip() for part in text.split(",")}
    return names if names <= set(found.columns) else set(found.columns)
