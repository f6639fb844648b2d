"""A twin -> the plan of all its rows. Pure: the generator makes them, ``build`` loads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pgclinic.model.record import Record
from pgclinic.model.row_plan import (
    ColumnPlan,
    CouplePlan,
    ForeignPlan,
    JointPlan,
    JointText,
    JointValue,
    OrdinalMaker,
    PresencePlan,
    RowPlan,
    TablePlan,
)
from pgclinic.model.twin import JointStatistics, Twin, TwinColumn, TwinForeignKey, TwinTable
from pgclinic.twin.checks import ordered_columns, presence_columns
from pgclinic.twin.column_plan import column_plan
from pgclinic.twin.ordinals import ordinal
from pgclinic.twin.partitions import bounds_within, leaves_of, partition_key, united

#: Small tables are what others refer to and what statements list: they are never scaled.
KEPT_WHOLE_ROWS = 1000
PAGE_BYTES = 8192
#: Header and line pointer of a row.
_ROW_OVERHEAD = 28
_WIDTH_UNKNOWN = 16
#: From this degree on one column is taken for a function of the other.
_DEGREE_MIN = 0.9
_JOINT_SHARE_MIN = 0.6
_SEED = 42


class TableRows(Record):
    """Where the rows of one table of the plan go. ``columns`` are those that COPY names; ``scale`` is rows to rows."""

    position: int
    table: TwinTable
    columns: tuple[str, ...]
    scale: float


class Synthesis(Record):
    plan: RowPlan
    tables: tuple[TableRows, ...]


def synthesise(twin: Twin, *, scale: float = 1.0, seed: int = _SEED) -> Synthesis:
    """The plan of rows that give the statistics of ``twin`` when they are analyzed, ``scale`` times as many of them."""
    sources = tuple(_sources(twin))
    ordered = _parents_first(sources)
    positions = {source.table.name: at for at, source in enumerate(ordered)}
    tables = []
    for source in ordered:
        tables.append(_table_plan(source, ordered, positions, scale))
    rows = tuple(
        TableRows(
            position=at,
            table=source.table,
            columns=tuple(column.name for column in source.columns),
            scale=_scale_of(source.table, scale),
        )
        for at, source in enumerate(ordered)
        if not source.parts
    )
    return Synthesis(plan=RowPlan(seed=seed, tables=tuple(tables)), tables=rows)


class _Source(Record):
    """A table that gets rows, or with ``parts`` a partitioned one that has those of its partitions."""

    table: TwinTable
    columns: tuple[TwinColumn, ...]
    within: Mapping[str, tuple[str, ...]]
    parts: tuple[str, ...] = ()


def _sources(twin: Twin) -> Iterator[_Source]:
    tables = {table.name: table for table in twin.tables}
    united_leaves: set[str] = set()
    for table in twin.tables:
        if not table.is_partitioned or (table.parent in tables and _is_hashed(tables, table)):
            continue
        leaves = leaves_of(table, tables)
        if leaves and _is_hash(table):
            united_leaves |= {leaf.name for leaf in leaves}
            yield _source(united(table, leaves))
        else:
            yield replace(_source(table), parts=tuple(leaf.name for leaf in leaves) or (table.name,))
    for table in twin.tables:
        if not table.is_partitioned and table.name not in united_leaves:
            yield _leaf(table, tables) if table.parent in tables else _source(table)


def _is_hash(table: TwinTable) -> bool:
    key = partition_key(table)
    return key is not None and key[0] == "hash"


def _is_hashed(tables: Mapping[str, TwinTable], table: TwinTable) -> bool:
    """Whether a partitioned partition belongs to a table that is divided by hash."""
    parent = tables.get(table.parent or "")
    while parent is not None:
        if _is_hash(parent):
            return True
        parent = tables.get(parent.parent or "")
    return False


def _source(table: TwinTable) -> _Source:
    return _Source(table=table, columns=tuple(column for column in table.columns if not column.generated), within={})


def _leaf(table: TwinTable, tables: Mapping[str, TwinTable]) -> _Source:
    """A partition: what it does not say of keys and checks its parent says; its bound limits the column of the key."""
    within: dict[str, tuple[str, ...]] = {}
    below = table
    parent = tables.get(table.parent or "")
    while parent is not None:
        key = partition_key(parent)
        if key is not None and key[0] != "hash":
            within.setdefault(key[1].strip('"'), bounds_within(below.bound))
        order = {column.name: number for number, column in enumerate(parent.columns)}
        table = replace(
            table,
            # A partition that was attached may have them in another order.
            columns=tuple(sorted(table.columns, key=lambda column: order.get(column.name, len(order)))),
            keys=table.keys or parent.keys,
            foreign_keys=table.foreign_keys or parent.foreign_keys,
            checks=table.checks or parent.checks,
        )
        below, parent = parent, tables.get(parent.parent or "")
    return replace(_source(table), within={name: ends for name, ends in within.items() if ends})


def _parents_first(sources: Sequence[_Source]) -> tuple[_Source, ...]:
    """Every table after those it refers to and after its parts; where tables refer to each other, as they come."""
    by_name = {source.table.name: source for source in sources}
    ordered: dict[str, _Source] = {}

    def visit(name: str, above: frozenset[str]) -> None:
        if name in ordered or name in above or name not in by_name:
            return
        source = by_name[name]
        for needed in (*source.parts, *(key.parent for key in source.table.foreign_keys if not source.parts)):
            visit(needed, above | {name})
        ordered[name] = source

    for source in sources:
        visit(source.table.name, frozenset())
    return tuple(ordered.values())


def rows_of(table: TwinTable) -> float:
    """How many rows the table had when it was captured: ANALYZE's density over the file as it was then.

    What the file has grown since may be dead rows: a counter of a few rows that is updated all the time has many pages.
    """
    if table.rows is not None and table.rows >= 0 and table.pages > 0:
        in_file = table.rows * (table.pages_now or table.pages) / table.pages
        return max(min(table.rows, in_file), in_file - table.dead_rows)
    if table.rows:
        return max(table.rows, 0.0)
    width = sum(column.statistics.width if column.statistics else _WIDTH_UNKNOWN for column in table.columns)
    return float(table.pages_now * PAGE_BYTES // (width + _ROW_OVERHEAD))


def _scaled_rows(table: TwinTable, scale: float) -> int:
    there = rows_of(table)
    if there <= KEPT_WHOLE_ROWS:
        return round(there)
    return max(KEPT_WHOLE_ROWS, round(there * scale))


def _scale_of(table: TwinTable, scale: float) -> float:
    there = rows_of(table)
    return _scaled_rows(table, scale) / there if there >= 1 else 1.0


def _table_plan(source: _Source, ordered: Sequence[_Source], positions: Mapping[str, int], scale: float) -> TablePlan:
    table = source.table
    if source.parts:
        parts = tuple(positions[name] for name in source.parts if name in positions and name != table.name)
        return TablePlan(name=table.name, rows=0, columns=_empty_columns(source), parts=parts)
    rows = _scaled_rows(table, scale)
    at = {column.name: number for number, column in enumerate(source.columns)}
    unique = _unique_columns(table, at)
    grows = _grows(table, ordered, positions, scale)
    columns = tuple(
        column_plan(
            column,
            rows=rows,
            scale=_scale_of(table, scale),
            unique=column.name in unique,
            within=source.within.get(column.name, ()),
            known=_jointly_known(table, column.name),
            grows=grows.get(column.name, 1.0),
        )
        for column in source.columns
    )
    keys = _composite_keys(table, at, unique)
    taken = {column for key in keys for column in key} | {at[name] for name in unique}
    joint, dependent = _relations(table, at, columns, rows, taken)
    return TablePlan(
        name=table.name,
        rows=rows,
        columns=columns,
        keys=keys,
        foreign=tuple(_foreign_plans(table.foreign_keys, at, ordered, positions)),
        joint=joint,
        dependent=dependent,
        couples=tuple(_couples(table, at, columns)),
        presence=tuple(_presence(table, at)),
    )


def _empty_columns(source: _Source) -> tuple[ColumnPlan, ...]:
    return tuple(column_plan(column, rows=0, scale=1.0, unique=False) for column in source.columns)


def _grows(
    table: TwinTable, ordered: Sequence[_Source], positions: Mapping[str, int], scale: float
) -> dict[str, float]:
    """What becomes of the number of values of columns that number the rows of a group, where groups stay as many.

    A tenth of the customers of ten districts are a tenth in each of them, and not those of one district.
    """
    own = _scale_of(table, scale)
    grows: dict[str, float] = {}
    statistics = {column.name: column.statistics for column in table.columns}
    for key in table.keys:
        counted = {name: found.distinct for name in key.columns if (found := statistics.get(name)) is not None}
        within = [
            foreign_key
            for foreign_key in table.foreign_keys
            if set(foreign_key.columns) < set(key.columns) and foreign_key.parent in positions
        ]
        if len(key.columns) < 2 or own == 1.0 or min(counted.values(), default=-1.0) < 0:
            continue
        widest = max(within, key=lambda one: len(one.columns), default=None)
        groups = 1.0 if widest is None else _scale_of(ordered[positions[widest.parent]].table, scale)
        rest = set(counted) - {name for foreign_key in within for name in foreign_key.columns}
        if rest:
            grows[max(rest, key=lambda name: counted[name])] = min(1.0, own / groups)
    return grows


def _jointly_known(table: TwinTable, name: str) -> frozenset[str]:
    """Values of a column that extended statistics name."""
    return frozenset(
        text
        for found in table.joint
        if name in found.columns
        for values in found.common_values
        if (text := values[found.columns.index(name)]) is not None
    )


def _unique_columns(table: TwinTable, at: Mapping[str, int]) -> set[str]:
    """Columns that are unique by a key of their own, or of which a key of several columns found no value twice."""
    unique = {key.columns[0] for key in table.keys if len(key.columns) == 1 and key.columns[0] in at}
    statistics = {column.name: column.statistics for column in table.columns}
    for key in table.keys:
        if unique & set(key.columns):
            continue
        for name in key.columns:
            found = statistics.get(name)
            if found is not None and found.distinct == -1.0 and name in at and (table.rows or 0) > 1:
                unique.add(name)
                break
    return unique


def _composite_keys(table: TwinTable, at: Mapping[str, int], unique: set[str]) -> tuple[tuple[int, ...], ...]:
    keys = sorted(table.keys, key=lambda key: not key.is_primary)
    composite = (key for key in keys if len(key.columns) > 1 and not unique & set(key.columns))
    return tuple(
        tuple(at[name] for name in key.columns) for key in composite if all(name in at for name in key.columns)
    )


def _foreign_plans(
    foreign_keys: Sequence[TwinForeignKey],
    at: Mapping[str, int],
    ordered: Sequence[_Source],
    positions: Mapping[str, int],
) -> Iterator[ForeignPlan]:
    for foreign in foreign_keys:
        if foreign.parent not in positions:
            continue
        parent = positions[foreign.parent]
        there = {column.name: number for number, column in enumerate(ordered[parent].columns)}
        if all(name in at for name in foreign.columns) and all(name in there for name in foreign.parent_columns):
            yield ForeignPlan(
                columns=tuple(at[name] for name in foreign.columns),
                parent=parent,
                parent_columns=tuple(there[name] for name in foreign.parent_columns),
            )


def _relations(
    table: TwinTable, at: Mapping[str, int], columns: Sequence[ColumnPlan], rows: int, taken: set[int]
) -> tuple[tuple[JointPlan, ...], tuple[tuple[int, int], ...]]:
    """What extended statistics say of columns that are in no key: joint values, or that one depends on another."""
    joint: list[JointPlan] = []
    dependent: list[tuple[int, int]] = []
    taken = set(taken)
    for found in table.joint:
        if any(name not in at or at[name] in taken for name in found.columns):
            continue
        known = sum(found.common_shares)
        pairs = [(at[one], at[other]) for one, other in _functions(found, columns, at)]
        if found.common_values and (known >= _JOINT_SHARE_MIN or not pairs):
            joint.append(_joint_plan(found, at, columns, rows, pairs))
            taken |= {at[name] for name in found.columns}
        else:
            dependent += pairs
    return tuple(joint), tuple(dependent)


def _joint_plan(
    found: JointStatistics,
    at: Mapping[str, int],
    columns: Sequence[ColumnPlan],
    rows: int,
    pairs: Sequence[tuple[int, int]],
) -> JointPlan:
    positions = tuple(at[name] for name in found.columns)
    values = []
    passed, given = 0.0, 0
    for texts, share in zip(found.common_values, found.common_shares, strict=False):
        passed += share
        until = min(rows, round(passed * rows))
        each = zip(texts, positions, strict=False)
        value = tuple(None if text is None else _joint_text(text, columns[position]) for text, position in each)
        if until > given:
            values.append(JointValue(values=value, rows=until - given))
            given = until
    functions = tuple((positions.index(one), positions.index(other)) for one, other in pairs)
    return JointPlan(columns=positions, values=tuple(values), functions=functions)


def _joint_text(text: str, column: ColumnPlan) -> JointText:
    maker = column.maker
    return JointText(text=text, ordinal=ordinal(maker.format, text) if isinstance(maker, OrdinalMaker) else None)


def _functions(
    found: JointStatistics, columns: Sequence[ColumnPlan], at: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Pairs of which the second is a function of the first, each column being the second of one pair at most."""
    names = _names_of(found)
    seen: set[str] = set()
    for text, degree in sorted(found.dependencies.items(), key=lambda pair: -pair[1]):
        left, _, right = text.partition("=>")
        one, other = names.get(left.strip()), names.get(right.strip())
        if one is None or other is None or degree < _DEGREE_MIN or other in seen or one in seen:
            continue
        seen.add(other)
        yield one, other
    for text, distinct in found.distinct.items():
        pair = [names.get(part.strip()) for part in text.split(",")]
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            continue
        one, other = sorted((pair[0], pair[1]), key=lambda name: -_distinct(columns[at[name]]))
        most = _distinct(columns[at[one]])
        if 0 < distinct <= 1.1 * most and not {one, other} & seen and _distinct(columns[at[other]]) > 1:
            seen.add(other)
            yield one, other


def _distinct(column: ColumnPlan) -> int:
    return column.distinct + len(column.common)


def _names_of(found: JointStatistics) -> dict[str, str]:
    """The columns by their names and, as the statistics' own texts have them, by their numbers in ascending order."""
    texts = " ".join([*found.dependencies, *found.distinct])
    numbers = sorted({int(number) for number in re.findall(r"(?<![\w-])\d+(?!\w)", texts)})
    by_number = dict(zip(map(str, numbers), found.columns, strict=False)) if len(numbers) == len(found.columns) else {}
    return {name: name for name in found.columns} | by_number


def _couples(table: TwinTable, at: Mapping[str, int], columns: Sequence[ColumnPlan]) -> Iterator[CouplePlan]:
    for low, high, strict in ordered_columns(table.checks):
        if low not in at or high not in at:
            continue
        one, other = columns[at[low]].maker, columns[at[high]].maker
        if isinstance(one, OrdinalMaker) and isinstance(other, OrdinalMaker) and one.format == other.format:
            yield CouplePlan(low=at[low], high=at[high], strict=strict)


def _presence(table: TwinTable, at: Mapping[str, int]) -> Iterator[PresencePlan]:
    """Flags by the positions of their labels, which are f and t."""
    for flag, of, means_present in presence_columns(table.checks):
        if flag in at and of in at:
            yield PresencePlan(flag=at[flag], of=at[of], yes=int(means_present), no=int(not means_present))
