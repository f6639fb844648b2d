"""Dexter's method and Extend: indexes chosen by the planner's costs, with hypothetical indexes or with real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations

from pgclinic.indexes.definition import create_statement, qualified_name
from pgclinic.indexes.naming import index_name
from pgclinic.indexes.searched_columns import searched_columns
from pgclinic.model.advise import IndexDefinition
from pgclinic.model.twin import Twin
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.quoting import identifier, name_parts
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.change_trial import texts_of
from pgclinic.whatif.explained import explained

#: Dexter's default: an index is worth it where a statement's cost falls by half.
_DEXTER_SAVED = 0.5
_EXTEND_WIDTH = 3
#: Extend stops where a step saves a smaller share of all costs.
_EXTEND_LEAST = 0.005
_BUILD_TIMEOUT_MS = 300_000

Method = Callable[["PlannerCosts", int], list[IndexDefinition]]


@dataclass
class PlannerCosts:
    """The planner's cost of each statement with indexes, in one transaction that is rolled back.

    The indexes are ``hypothetical`` ones of HypoPG, or real ones.
    """

    session: Session
    twin: Twin
    statements: Sequence[CalibratedStatement]
    source: ValueSource
    hypothetical: bool = False
    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    of_table: dict[str, set[int]] = field(default_factory=dict)
    #: By the name of an index in a plan that of its definition: of a part of a partitioned one, of a hypothetical one.
    whole: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = {table.name: table for table in self.twin.tables}
        found: dict[str, dict[str, None]] = {}
        for one in self.statements:
            key = one.statement.counted.query_id
            self.texts[key] = tuple(texts_of(self.source, one))[:1]
            self.weights[key] = float(one.statement.counted.calls)
            for source in one.statement.typed.sources:
                table = tables.get(source.table)
                if table is None:
                    continue
                searched = searched_columns(one.statement.typed, source.number)
                names = (*searched.equal, *searched.joined, *searched.ranges, *searched.ordered)
                known = {
                    column.name for column in table.columns if column.base_type not in ("jsonb", "point", "tsvector")
                }
                found.setdefault(table.name, {}).update(dict.fromkeys(name for name in names if name in known))
                self.of_table.setdefault(table.name, set()).add(key)
        self.columns = {table: tuple(names) for table, names in found.items()}

    def index(self, table: str, columns: Sequence[str]) -> IndexDefinition:
        kept = next(one for one in self.twin.tables if one.name == table)
        return IndexDefinition(
            table=table,
            keys=tuple(identifier(name) for name in columns),
            name=index_name(name_parts(table)[-1], ("bench", *columns), frozenset()),
            is_partitioned=kept.is_partitioned,
        )

    @contextmanager
    def there(self, indexes: Sequence[IndexDefinition]) -> Iterator[int]:
        """The indexes are there, with so many bytes in all."""
        with self._hypothetical(indexes) if self.hypothetical else self._real(indexes) as size:
            yield size

    @contextmanager
    def _real(self, indexes: Sequence[IndexDefinition]) -> Iterator[int]:
        self.session.execute("savepoint there")
        try:
            before = self._bytes()
            self.session.execute(f"set local statement_timeout = {_BUILD_TIMEOUT_MS}")
            for one in indexes:
                self.session.execute(create_statement(one, concurrently=False))
                parts = self.session.rows(
                    query("index_parts", self.session.version_num // 10_000), {"name": qualified_name(one)}
                )
                self.whole.update((str(name), one.name) for (name,) in parts)
            yield self._bytes() - before
        finally:
            self.session.execute("rollback to savepoint there")

    @contextmanager
    def _hypothetical(self, indexes: Sequence[IndexDefinition]) -> Iterator[int]:
        """HypoPG makes none on a partitioned table: each partition gets its own."""
        size = 0
        try:
            for one in indexes:
                for table in self._with_rows(one.table):
                    statement = create_statement(replaced(one, table), concurrently=False)
                    number, name = self.session.row(
                        "select indexrelid, indexname from public.hypopg_create_index(%(statement)s)",
                        {"statement": statement},
                    )
                    self.whole[str(name)] = one.name
                    (bytes_,) = self.session.row("select public.hypopg_relation_size(%(number)s)", {"number": number})
                    size += int(bytes_)
            yield size
        finally:
            self.session.execute("select public.hypopg_reset()")

    def _with_rows(self, table: str) -> list[str]:
        kept = next(one for one in self.twin.tables if one.name == table)
        if not kept.is_partitioned:
            return [table]
        return [name for one in self.twin.tables if one.parent == table for name in self._with_rows(one.name)]

    def costs(self, keys: Sequence[int]) -> dict[int, float]:
        return {key: float(str(plan["Total Cost"])) for key, plan in self.plans(keys).items()}

    def plans(self, keys: Sequence[int]) -> dict[int, Mapping[str, object]]:
        found: dict[int, Mapping[str, object]] = {}
        for key in keys:
            for text in self.texts[key]:
                try:
                    found[key] = explained(self.session, "format json", text)
                except QueryError as error:
                    if error.sqlstate is None:
                        raise
        return found

    def _bytes(self) -> int:
        (size,) = self.session.row("select coalesce(sum(pg_relation_size(oid)), 0) from pg_class where relkind = 'i'")
        return int(size)


def replaced(index: IndexDefinition, table: str) -> IndexDefinition:
    """The same index on another table."""
    return IndexDefinition(table=table, keys=index.keys, name=index.name)


def dexter(costs: PlannerCosts, most: int) -> list[IndexDefinition]:
    """Single columns and pairs, all at once; kept is what the plans of statements use whose cost falls by half."""
    saved: dict[IndexDefinition, float] = {}
    for table, columns in costs.columns.items():
        wanted = [costs.index(table, one) for count in (1, 2) for one in permutations(columns[:6], count)]
        keys = sorted(costs.of_table[table])
        before = costs.costs(keys)
        with costs.there(wanted):
            for key, plan in costs.plans(keys).items():
                after = float(str(plan["Total Cost"]))
                if key in before and after <= (1 - _DEXTER_SAVED) * before[key]:
                    names = {costs.whole.get(name, name) for name in names_in(plan)}
                    for index in (one for one in wanted if one.name in names):
                        saved[index] = saved.get(index, 0.0) + costs.weights[key] * (before[key] - after)
    return sorted(saved, key=lambda one: -saved[one])[:most]


def names_in(plan: Mapping[str, object]) -> Iterator[str]:
    """The indexes of a plan."""
    if "Index Name" in plan:
        yield str(plan["Index Name"])
    below = plan.get("Plans", ())
    for one in below if isinstance(below, list) else ():
        yield from names_in(one)


def extend(costs: PlannerCosts, most: int) -> list[IndexDefinition]:
    """The step that saves most cost per byte: a new index on a column, or one more column behind those of an index."""
    chosen: list[tuple[str, tuple[str, ...]]] = []
    whole = sum(costs.weights[key] * cost for key, cost in costs.costs(sorted(costs.texts)).items())
    while True:
        best, ratio = None, 0.0
        for table, columns in costs.columns.items():
            own = [one for one in chosen if one[0] == table]
            steps = [[*own, (table, (name,))] for name in columns] if len(chosen) < most else []
            for wide in (one for one in own if len(one[1]) < _EXTEND_WIDTH):
                others = [one for one in own if one != wide]
                steps += [[*others, (table, (*wide[1], name))] for name in columns if name not in wide[1]]
            keys = sorted(costs.of_table[table])
            # What was chosen on other tables stays: a statement may join them. Real ones would be built for every step.
            other = [costs.index(*one) for one in chosen if one[0] != table and costs.hypothetical]
            with costs.there([*other, *(costs.index(*one) for one in own)]) as own_bytes:
                now = costs.costs(keys)
            for step in (one for one in steps if len(set(one)) == len(one)):
                with costs.there([*other, *(costs.index(*one) for one in step)]) as size:
                    after = costs.costs(keys)
                gained = sum(costs.weights[key] * (now[key] - after[key]) for key in now.keys() & after.keys())
                if gained / max(size - own_bytes, 8192) > ratio:
                    ratio, best = gained / max(size - own_bytes, 8192), (table, step, gained)
        if best is None or best[2] <= _EXTEND_LEAST * whole:
            break
        chosen = [one for one in chosen if one[0] != best[0]] + list(best[1])
    return [costs.index(*one) for one in chosen]
