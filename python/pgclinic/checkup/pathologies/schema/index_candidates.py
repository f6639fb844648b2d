"""Indexes that would serve the statements which scan: from their parse trees, the counters and the columns' statistics.

A candidate is a hint. Only a planner with the index before it says whether it is used, so each is tried on a twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.pathologies.schema.searched_tables import (
    SearchedTable,
    StatementCost,
    searched_tables,
    statement_costs,
)
from pgclinic.indexes.keys import Groups, columns_of, combined
from pgclinic.indexes.naming import index_name
from pgclinic.model.finding import Applies, Treatment
from pgclinic.sql.quoting import identifier, qualified

#: Of the time of all statements: what takes less gains nobody anything, and its index costs every write.
SHARE_MIN = 0.01
#: A scan of fewer pages costs about as much as the descent of an index.
PAGES_MIN = 16
#: A statement that scans a table visits at least half of its pages: parallel workers and LIMIT take the rest.
SCANNED_SHARE = 0.5
#: The planner prefers a scan where an index would find more than this share of the rows.
MATCHED_SHARE_MAX = 0.1
#: More key columns make an index larger and find hardly fewer rows.
EQUAL_MAX = 3
CANDIDATES_MAX = 10


@dataclass(frozen=True)
class IndexCandidate:
    """An index on ``table`` that the statements ``query_ids`` could use, which take ``time_share`` of all statements.

    ``groups`` have its keys as CREATE INDEX has them, quoted columns or expressions in parentheses; within a group
    their order does not matter. ``name`` is free in the schema.
    """

    table: Table
    method: str
    groups: Groups
    query_ids: tuple[int, ...]
    time_share: float
    name: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return columns_of(self.groups)

    @property
    def statement(self) -> str:
        """A partitioned table takes no index concurrently."""
        how = "" if self.table.state.kind == "p" else "concurrently "
        method = "" if self.method == "btree" else f"using {self.method} "
        on = qualified(self.table.state.schema, self.table.state.name)
        return f"create index {how}{identifier(self.name)} on {on} {method}({', '.join(self.keys)})"

    def treatment(self) -> Treatment:
        state = self.table.state
        concurrent = state.kind != "p"
        return Treatment(
            title=f"create an index on {self.table.name} ({', '.join(self.keys)})",
            applies=Applies.STATEMENT,
            sql=(self.statement,),
            lock="ShareUpdateExclusiveLock: reads and writes go on" if concurrent else "ShareLock: writes wait",
            risk="takes space, and every insert into the table writes it, as does every update that is not HOT"
            + ("; where it fails it leaves an invalid index, which has to be dropped" if concurrent else ""),
            undo=(f"drop index {'concurrently ' if concurrent else ''}{qualified(state.schema, self.name)}",),
        )


def index_candidates(case: Case) -> tuple[IndexCandidate, ...]:
    """The candidates that serve the statements with the most time first; empty without statements or their texts."""
    found: dict[tuple[int, str, tuple[str, ...]], IndexCandidate] = {}
    costs = [statement for statement in statement_costs(case) if statement.time_share >= SHARE_MIN]
    for cost, tables in searched_tables(case, costs):
        for searched in tables:
            if _is_scanned(case, searched.table, cost):
                for method, groups in _keys(case, searched, cost):
                    _add(found, searched.table, method, groups, cost)
    ranked = sorted(found.values(), key=lambda one: (-one.time_share, -len(one.keys), one.table.name, one.keys))
    return tuple(_named(case, ranked[:CANDIDATES_MAX]))


def _add(
    found: dict[tuple[int, str, tuple[str, ...]], IndexCandidate],
    table: Table,
    method: str,
    groups: Groups,
    cost: StatementCost,
) -> None:
    """One index for all statements that it serves."""
    place = (table.state.oid, method, columns_of(groups))
    known = found.get(place)
    if known is None:
        found[place] = IndexCandidate(table, method, groups, (cost.query_id,), cost.time_share)
    elif cost.query_id not in known.query_ids:
        found[place] = replace(
            known, query_ids=(*known.query_ids, cost.query_id), time_share=known.time_share + cost.time_share
        )


def _is_scanned(case: Case, table: Table, cost: StatementCost) -> bool:
    """Whether the table is large enough, has been scanned, and the statement visits as many pages as a scan of it."""
    parts = tuple(_parts(case, table))
    pages = sum(_pages(case, part) for part in parts)
    scans = sum(part.counters.sequential_scans for part in parts if part.counters is not None)
    return pages >= PAGES_MIN and scans > 0 and cost.blocks_per_call >= SCANNED_SHARE * pages


def _parts(case: Case, table: Table) -> Iterator[Table]:
    """The table, or what a partitioned one consists of."""
    if table.state.kind != "p":
        yield table
        return
    for one in case.all_tables.values():
        if one.state.parent_oid == table.state.oid:
            yield from _parts(case, one)


def _pages(case: Case, table: Table) -> float:
    block_bytes = case.snapshot.server.block_bytes
    return table.state.bytes / block_bytes if table.state.bytes is not None else float(table.state.pages)


def _keys(case: Case, searched: SearchedTable, cost: StatementCost) -> Iterator[tuple[str, Groups]]:
    """Access methods and keys that the statement could use, the most complete one first; without those it has."""
    table = searched.table
    for column in searched.contained:
        if not any(index.state.method == "gin" and index.state.columns[:1] == (column,) for index in table.indexes):
            yield "gin", ((identifier(column),),)
    for expression in searched.expressions:
        if not any(expression in (index.state.expressions or "") for index in table.indexes):
            yield "btree", ((f"({expression})",),)
    equal = sorted(searched.equal, key=lambda name: _matched(case, table, name))[:EQUAL_MAX]
    tail = searched.ranges[:1] or (searched.ordered if searched.is_limited else ())
    if not equal and cost.rows_per_call > MATCHED_SHARE_MAX * table.live:
        tail = ()
    kinds = [(equal, tail), (equal[:1], ()), ((*searched.joined[:1], *equal), ()), (searched.joined[:1], ())]
    for leading, rest in kinds:
        columns = tuple(dict.fromkeys((*leading, *rest)))
        if columns and _is_selective(case, table, leading, has_tail=bool(rest)) and not _is_served(table, columns):
            yield "btree", _quoted(leading, [name for name in columns if name not in leading])


def _quoted(leading: Sequence[str], rest: Sequence[str]) -> Groups:
    """Columns that are compared with values in any order, then one after the other those behind them."""
    groups = (tuple(dict.fromkeys(leading)), *((name,) for name in rest))
    return tuple(tuple(identifier(name) for name in group) for group in groups if group)


def for_all(case: Case, candidates: Sequence[IndexCandidate]) -> IndexCandidate | None:
    """One index that serves the statements of each, as far as there is one: those of the first, then of the others."""
    made: IndexCandidate | None = None
    for candidate in candidates:
        if made is None:
            made = candidate
        elif (
            made.method == candidate.method == "btree"
            and (groups := combined(made.groups, candidate.groups)) is not None
        ):
            both = tuple(dict.fromkeys((*made.query_ids, *candidate.query_ids)))
            made = replace(
                made, groups=groups, query_ids=both, time_share=sum(case.statement_share(key) for key in both)
            )
    return next(_named(case, (made,))) if made is not None else None


def _matched(case: Case, table: Table, column: str) -> float:
    """The share of the rows that have one value of the column; small where nothing is known of it."""
    found = case.columns.get((table.state.schema, table.state.name, column))
    if found is None or not found.distinct_values:
        return 0.001
    rows = max(table.live, 1.0)
    distinct = found.distinct_values if found.distinct_values > 0 else -found.distinct_values * rows
    return (1.0 - found.null_share) / max(distinct, 1.0)


def _is_selective(case: Case, table: Table, equal: Sequence[str], *, has_tail: bool) -> bool:
    """Whether the columns find few rows. Of a range or an order nobody knows before it is tried."""
    share = 1.0
    for name in equal:
        share *= _matched(case, table, name)
    return has_tail or share <= MATCHED_SHARE_MAX


def _is_served(table: Table, columns: tuple[str, ...]) -> bool:
    """Whether an index with these columns in front is there, or one that finds a single row by some of them."""
    return any(_serves(index, columns) for index in table.indexes)


def _serves(index: Index, columns: tuple[str, ...]) -> bool:
    state = index.state
    if state.method != "btree" or not state.is_valid or state.is_partial or state.has_expressions:
        return False
    first = state.columns[: len(columns)]
    if first[:1] == columns[:1] and set(first) == set(columns):
        return True
    return state.is_unique and set(state.columns) <= set(columns)


def _named(case: Case, candidates: Iterable[IndexCandidate]) -> Iterator[IndexCandidate]:
    """With a name as PostgreSQL makes it, that nothing else in the schema has."""
    taken: dict[str, set[str]] = {}
    for index in case.snapshot.indexes:
        taken.setdefault(index.schema, set()).add(index.name)
    for table in case.snapshot.tables:
        taken.setdefault(table.schema, set()).add(table.name)
    for candidate in candidates:
        state = candidate.table.state
        name = index_name(state.name, candidate.keys, taken.setdefault(state.schema, set()))
        taken[state.schema].add(name)
        yield replace(candidate, name=name)
