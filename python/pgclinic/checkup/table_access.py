"""How statements find their rows: which columns of which table they compare, and whether an index could serve them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.function_bodies import bodies_called
from pgclinic.checkup.workload import Work, workload
from pgclinic.model.finding import Evidence, Fact, SubjectKind, Unit
from pgclinic.sql.statement_shape import ColumnComparison, Level, Mention, StatementShape, statement_shape

#: With this much to read a scan costs ten times what the three or four buffers of an index lookup cost, and more.
PAGES_MIN = 50
#: Rows that are on more than one page in twenty are about as cheap to find by reading all pages.
FRACTION_MAX = 0.05
#: A statement that visits half of a table's pages each time reads the whole table, some of the time or with others.
_WHOLE = 0.5
#: Columns added to an index that has others.
MORE_MAX = 2
#: Another column is worth its place in an index if it leaves this part of the rows or fewer.
_WORTH = 0.5
_EQUAL = frozenset({"=", "in", "any"})


@dataclass(frozen=True)
class TableAccess:
    """A mention of a table in a statement, with the conditions on its columns. A statement may have several.

    ``body`` is the text of a function's statement if it stands there.
    """

    work: Work
    level: Level
    mention: Mention
    table: Table
    comparisons: tuple[ColumnComparison, ...]
    body: str | None = None

    @property
    def text(self) -> str:
        """The text of the statement in which the mention stands."""
        return self.work.text if self.body is None else self.body

    @property
    def shape(self) -> StatementShape | None:
        return statement_shape(self.text)

    def equal_columns(self) -> tuple[str, ...]:
        """Columns that are compared for equality with values."""
        return tuple(
            dict.fromkeys(
                comparison.column
                for comparison in self.comparisons
                if comparison.wrapped is None and comparison.other == "value" and comparison.operator in _EQUAL
            )
        )


def accesses(case: Case) -> Iterator[TableAccess]:
    """Every table of users in the statements with the most time."""
    for work in workload(case):
        shape = work.shape
        for level in shape.levels if shape is not None else ():
            yield from accesses_of_level(case, work, level)


def accesses_in_functions(case: Case) -> Iterator[TableAccess]:
    """The same in the bodies of functions in SQL that those statements call, whose work is that of the statement."""
    for work in workload(case):
        for body in bodies_called(case, work.text):
            shape = statement_shape(body)
            for level in shape.levels if shape is not None else ():
                for access in accesses_of_level(case, work, level):
                    yield replace(access, body=body)


def accesses_of_level(case: Case, work: Work, level: Level) -> Iterator[TableAccess]:
    """The tables of one of its levels."""
    for mention in dict.fromkeys(level.mentions):
        table = table_of(case, mention)
        if table is not None:
            found = tuple(comparison for comparison in level.comparisons if _is_of(case, comparison, mention))
            yield TableAccess(work=work, level=level, mention=mention, table=table, comparisons=found)


def table_of(case: Case, mention: Mention) -> Table | None:
    """The table that a name means: that of the schema, else that of public, else the only one of that name."""
    found = case.tables_named.get(mention.name, ())
    if mention.schema is not None:
        return next((table for table in found if table.state.schema == mention.schema), None)
    public = next((table for table in found if table.state.schema == "public"), None)
    return public or (found[0] if len(found) == 1 else None)


def usable_indexes(table: Table, column: str) -> tuple[Index, ...]:
    """Indexes by which any row can be found that has a value in this column: valid, whole, the column first."""
    return tuple(index for index in table.indexes if _is_usable(index) and index.state.columns[:1] == (column,))


def pages_of(case: Case, table: Table) -> int:
    """Pages of the heap now."""
    block = case.snapshot.server.block_bytes
    return max(table.state.pages, (table.state.bytes or 0) // block)


#: Statistics of tables and of statements may have been reset at different times.
_SCANS_A_CALL = 0.2


def reads_whole(case: Case, access: TableAccess) -> bool:
    """Whether the statement visits so many buffers each time that it reads all of the table, and the table is scanned
    often enough for that: building an index counts as a scan as well."""
    if not is_scanned_by(access.table, access.work):
        return False
    pages = pages_of(case, access.table)
    return pages >= PAGES_MIN and access.work.buffers_per_call >= _WHOLE * pages


def is_scanned_by(table: Table, work: Work) -> bool:
    """Whether the table is read whole so often that it can be this statement."""
    counters = table.counters
    if counters is None or counters.sequential_rows < table.live:
        return False
    return counters.sequential_scans >= _SCANS_A_CALL * work.calls


def fraction_equal(case: Case, table: Table, column: str) -> float | None:
    """Which part of the rows have one value of this column, by what ANALYZE found; None where nothing is known."""
    known = case.columns_by_table.get((table.state.schema, table.state.name), {}).get(column)
    if known is None or not known.distinct_values:
        return None
    distinct = known.distinct_values if known.distinct_values > 0 else -known.distinct_values * table.live
    return min(1.0 / max(distinct, 1.0), 1.0)


def fraction_common(case: Case, table: Table, column: str) -> float | None:
    """The part of the rows that have the most common value of this column: that which a statement may ask for."""
    usual = fraction_equal(case, table, column)
    known = case.columns_by_table.get((table.state.schema, table.state.name), {}).get(column)
    return max(usual, known.top_share or 0.0) if usual is not None and known is not None else None


def worth_a_place(case: Case, table: Table, columns: Iterable[str], rows: float, most: int) -> tuple[str, ...]:
    """Of these columns those that an index for ``rows`` needs, the ones that find the fewest first."""
    known = sorted((part, name) for name in columns if (part := fraction_equal(case, table, name)) is not None)
    chosen: list[str] = []
    for part, name in known[:most]:
        if rows > 1 and (part <= _WORTH or not chosen):
            chosen.append(name)
            rows *= part
    return tuple(chosen)


def scans_despite_index(case: Case) -> Iterator[tuple[TableAccess, Index]]:
    """Statements that read a whole table though they want few rows, by a column that an index begins with."""
    for access in accesses(case):
        if not reads_whole(case, access):
            continue
        for column in access.equal_columns():
            fraction = fraction_equal(case, access.table, column)
            index = next(iter(usable_indexes(access.table, column)), None)
            if index is not None and fraction is not None and fraction <= FRACTION_MAX:
                yield access, index
                break


def table_evidence(table: Table, *facts: Fact) -> Evidence:
    counters = table.counters
    scans = counters.sequential_scans if counters is not None else 0
    known = [Fact(name="rows", value=table.live, unit=Unit.ROWS)]
    if table.state.bytes is not None:
        known.append(Fact(name="size", value=table.state.bytes, unit=Unit.BYTES))
    if counters is not None and scans:
        known.append(Fact(name="sequential scans", value=scans, unit=Unit.COUNT))
        known.append(Fact(name="rows read by each", value=counters.sequential_rows / scans, unit=Unit.ROWS))
    return Evidence(kind=SubjectKind.TABLE, name=table.name, facts=(*known, *facts))


def index_evidence(index: Index, *facts: Fact) -> Evidence:
    known: list[Fact] = []
    if index.state.columns:
        known.append(Fact(name="columns", value=", ".join(column or "expression" for column in index.state.columns)))
    if index.state.bytes is not None:
        known.append(Fact(name="size", value=index.state.bytes, unit=Unit.BYTES))
    if index.counters is not None:
        known.append(Fact(name="scans", value=index.counters.scans, unit=Unit.COUNT))
    return Evidence(kind=SubjectKind.INDEX, name=index.qualified, facts=(*known, *facts))


def _is_usable(index: Index) -> bool:
    state = index.state
    return state.is_valid and state.is_ready and not state.is_partial and state.method in ("btree", "hash")


def _is_of(case: Case, comparison: ColumnComparison, mention: Mention) -> bool:
    """Whether the column is of this table."""
    return owner_of(case, comparison.column, comparison.mentions) == mention


def owner_of(case: Case, column: str, mentions: Sequence[Mention]) -> Mention | None:
    """Of the tables that a column may be of, the only one that is known to have it."""
    owners = (
        mentions if len(mentions) == 1 else [mention for mention in mentions if column in _columns_of(case, mention)]
    )
    return owners[0] if len(owners) == 1 else None


def _columns_of(case: Case, mention: Mention) -> frozenset[str]:
    table = table_of(case, mention)
    return columns_known(case, table) if table is not None else frozenset()


def columns_known(case: Case, table: Table) -> frozenset[str]:
    """Columns of the table that have statistics or an index."""
    analyzed = case.columns_by_table.get((table.state.schema, table.state.name), {})
    named = (name for index in table.indexes for name in index.state.columns if name)
    return frozenset(analyzed).union(named)
