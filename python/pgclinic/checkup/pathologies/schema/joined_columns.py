"""Columns by which statements look for rows of a table that join few rows of another, found by a value there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.function_bodies import bodies_called
from pgclinic.checkup.pathologies.schema.searched_tables import (
    SearchedTable,
    StatementCost,
    searched_tables,
    statement_costs,
)
from pgclinic.checkup.table_access import FRACTION_MAX, TableAccess, fraction_equal


@dataclass(frozen=True)
class JoinedColumn:
    """So many ``lookups`` by this column find so many ``rows`` of the table in one execution."""

    column: str
    lookups: float
    rows: float


class JoinedColumns:
    """Read from all statements when one is first asked for."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._found: dict[tuple[str, int], JoinedColumn] | None = None

    def of(self, access: TableAccess) -> JoinedColumn | None:
        """None where rows of the table are found by no join, or by one of many rows."""
        if self._found is None:
            self._found = {}
            for cost, tables in searched_tables(self._case, tuple(self._texts())):
                for table in tables:
                    found = self._column(table, tables)
                    if found is not None:
                        self._found.setdefault((cost.text, table.table.state.oid), found)
        return self._found.get((access.text, access.table.state.oid))

    def _texts(self) -> Iterator[StatementCost]:
        """The texts of statements, and of the functions that they call."""
        for cost in statement_costs(self._case):
            yield cost
            yield from (replace(cost, text=body) for body in bodies_called(self._case, cost.text))

    def _column(self, one: SearchedTable, tables: Sequence[SearchedTable]) -> JoinedColumn | None:
        """Where the rows that the others' values lead to join a small part of this table's."""
        if not one.joined:
            return None
        column = one.joined[0]
        fraction = fraction_equal(self._case, one.table, column)
        by_number = {other.number: other for other in tables}
        leading = [
            rows
            for name, number in one.joins
            if name == column and (rows := self._rows_found(number, by_number, {one.number})) is not None
        ]
        if fraction is None or not leading or fraction * min(leading) > FRACTION_MAX:
            return None
        return JoinedColumn(column, lookups=min(leading), rows=min(leading) * fraction * one.table.live)

    def _rows_found(self, number: int, tables: Mapping[int, SearchedTable], seen: set[int]) -> float | None:
        """Rows of one mention of a table, by its own values or those of tables that lead to it; None if unknown."""
        one = tables.get(number)
        if one is None:
            return None
        found = [
            fraction * one.table.live
            for column in one.equal
            if (fraction := fraction_equal(self._case, one.table, column)) is not None
        ]
        for column, other in one.joins:
            fraction = fraction_equal(self._case, one.table, column)
            rows = self._rows_found(other, tables, {*seen, number}) if other not in seen else None
            if rows is not None and fraction is not None:
                found.append(rows * fraction * one.table.live)
        return max(1.0, min(found)) if found else None
