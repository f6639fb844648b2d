"""By which columns statements look for rows, from their parse trees, and what each statement costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from pgclinic.checkup.case import Case, Table, words_of
from pgclinic.errors import UsageError
from pgclinic.indexes.searched_columns import SearchedColumns, searched_columns
from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.sql.quoting import qualified
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_kind import known_statement
from pgclinic.sql.statement_places import TypedStatement
from pgclinic.sql.typed_statement import typed_statement

#: No type has to be right here: the statement is read and not run.
_ANY_TYPE = "unknown"


@dataclass(frozen=True)
class StatementCost:
    """One statement over all roles: of the observation if it ran then, else since statistics were reset."""

    query_id: int
    text: str
    time_share: float
    calls: float
    blocks_per_call: float
    rows_per_call: float


@dataclass(frozen=True, kw_only=True)
class SearchedTable(SearchedColumns):
    """One mention of a table of the case."""

    table: Table


def statement_costs(case: Case) -> tuple[StatementCost, ...]:
    """Statements with a plan, those with the most time first."""
    before: dict[int, _Sums] = {}
    if case.snapshot.counters_before is not None:
        for statement in case.snapshot.counters_before.statements:
            before.setdefault(statement.query_id, _Sums()).add(statement)
    now: dict[int, _Sums] = {}
    for statement in case.snapshot.counters.statements:
        now.setdefault(statement.query_id, _Sums()).add(statement)
    found = []
    for query_id, sums in now.items():
        text = case.texts.get(query_id, "")
        if not text or not known_statement(text).kind.has_plan:
            continue
        grown = sums.since(before[query_id]) if query_id in before else sums
        used = grown if grown.calls > 0 else sums
        if used.calls > 0:
            found.append(
                StatementCost(
                    query_id=query_id,
                    text=text,
                    time_share=case.statement_share(query_id),
                    calls=used.calls,
                    blocks_per_call=used.blocks / used.calls,
                    rows_per_call=used.rows / used.calls,
                )
            )
    return tuple(sorted(found, key=lambda one: (-one.time_share, one.query_id)))


def searched_tables(
    case: Case, statements: Iterable[StatementCost]
) -> Iterator[tuple[StatementCost, tuple[SearchedTable, ...]]]:
    """Each statement with the tables of the case that it mentions; none where its text was truncated."""
    schema = known_schema(case)
    by_name = {_name(table): table for table in case.all_tables.values()}
    for statement in statements:
        typed = _typed(statement.text, _alone(case, statement.text) or schema)
        sources = typed.sources if typed is not None else ()
        yield (
            statement,
            tuple(
                _searched(searched_columns(typed, source.number), by_name[source.table])
                for source in sources
                if typed is not None and source.table in by_name
            ),
        )


def known_schema(case: Case) -> KnownSchema:
    """Tables with the columns that the snapshot knows: those with statistics, and those of indexes and keys."""
    columns: dict[tuple[str, str], dict[str, None]] = {}
    for column in case.snapshot.columns:
        columns.setdefault((column.schema, column.table), {})[column.column] = None
    of_keys: dict[int, dict[str, None]] = {}
    for key in case.snapshot.foreign_keys:
        of_keys.setdefault(key.table_oid, {}).update(dict.fromkeys(key.columns))
        of_keys.setdefault(key.parent_oid, {}).update(dict.fromkeys(key.parent_columns))
    tables: dict[tuple[str, str], KnownTable] = {}
    for oid, table in case.all_tables.items():
        place = (table.state.schema, table.state.name)
        names = {**columns.get(place, {}), **of_keys.get(oid, {})}
        for index in table.indexes:
            names |= dict.fromkeys((*index.state.columns, *index.state.included))
        tables[place] = _known(table, names)
    return KnownSchema(tables, _search_path(case))


class _Sums:
    """What several roles did with one statement."""

    def __init__(self) -> None:
        self.calls = self.blocks = self.rows = 0.0

    def add(self, one: StatementCounters) -> None:
        self.calls += one.calls
        self.blocks += one.hits + one.reads
        self.rows += one.rows

    def since(self, before: _Sums) -> _Sums:
        grown = _Sums()
        if self.calls >= before.calls:
            grown.calls = self.calls - before.calls
            grown.blocks = self.blocks - before.blocks
            grown.rows = self.rows - before.rows
        return grown


def _searched(columns: SearchedColumns, table: Table) -> SearchedTable:
    known = {one.name: getattr(columns, one.name) for one in fields(columns)}
    return SearchedTable(table=table, **known)


def _typed(text: str, schema: KnownSchema) -> TypedStatement | None:
    try:
        return typed_statement(known_statement(text).text, schema)
    except UsageError:
        return None


def _alone(case: Case, text: str) -> KnownSchema | None:
    """For a statement on one table whose columns are not known: any word of its text may be one of them."""
    words = words_of(text)
    named = [one for one in case.tables if one.state.name.lower() in words]
    if len(named) != 1:
        return None
    table = named[0]
    if any((column.schema, column.table) == (table.state.schema, table.state.name) for column in case.snapshot.columns):
        return None
    place = (table.state.schema, table.state.name)
    return KnownSchema({place: _known(table, dict.fromkeys(sorted(words)))}, _search_path(case))


def _known(table: Table, names: Iterable[str]) -> KnownTable:
    return KnownTable(_name(table), {name: KnownColumn(name, _ANY_TYPE) for name in names})


def _name(table: Table) -> str:
    return qualified(table.state.schema, table.state.name)


def _search_path(case: Case) -> tuple[str, ...]:
    names = [name.strip().strip('"') for name in (case.word("search_path") or "").split(",")]
    return tuple(name for name in names if name and name != "$user") or ("public",)
