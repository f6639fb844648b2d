"""How many rows a statement wants of a table that it reads whole: by a plan, or by what ANALYZE found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.planned_scans import (
    SEEN,
    equal_columns,
    joined_scan,
    rows_in_all,
    scans_of,
    tables_scanned,
)
from pgclinic.checkup.saved_reads import Reading, reading_of_calls, reading_of_plan
from pgclinic.checkup.table_access import (
    TableAccess,
    accesses_of_level,
    fraction_common,
    fraction_equal,
    is_scanned_by,
    owner_of,
    usable_indexes,
)
from pgclinic.checkup.workload import Work, workload
from pgclinic.model.finding import Fact, Unit
from pgclinic.model.query_plan import PlanSource, QueryPlan
from pgclinic.sql.statement_shape import Mention


@dataclass(frozen=True)
class WantedRows:
    """A nested loop by an index looks up so many rows in a call, or finds so many, if those are more.

    With ``lookups`` fewer lookups find them. ``reading`` is what the scans read in place of them.
    """

    work: Work
    table: Table
    rows: float
    known: str
    reading: Reading
    lookups: float | None = None

    def fact(self) -> Fact:
        return Fact(name=f"rows of {self.table.name} wanted, {self.known}", value=self.rows, unit=Unit.ROWS)


def planned_lookups(case: Case) -> Iterator[WantedRows]:
    """Scans of whole tables in the plans of the statements with the most time, where an index finds what is wanted:
    by the join, or by values in the filter. A text does not show what is below a view or among partitions."""
    for work in workload(case):
        plan = case.plans.get(work.query_id)
        for table in tables_scanned(case, plan) if plan is not None else ():
            if plan is not None and is_scanned_by(table, work):
                yield from _planned(case, work, plan, table)


def _planned(case: Case, work: Work, plan: QueryPlan, table: Table) -> Iterator[WantedRows]:
    for at in scans_of(plan, table):
        node = plan.nodes[at]
        by_filter = any(usable_indexes(table, column) for column in equal_columns(node))
        rows = rows_in_all(node) if by_filter else _by_join(table, plan, at)
        if rows is None:
            continue
        yield WantedRows(
            work=work,
            table=table,
            rows=rows,
            known=SEEN[plan.source if node.rows is not None else PlanSource.GENERIC],
            reading=reading_of_plan(work, plan, node) or reading_of_calls(case, work, table),
            lookups=1.0 if by_filter else None,
        )


def join_lookups(case: Case, access: TableAccess) -> WantedRows | None:
    """Of a table that has an index on a joined column; None where nothing is known, or the log shows another plan.

    Where rows were counted, they decide. Else it is the most that any figure says.
    """
    plan = case.plans.get(access.work.query_id)
    planned = min(_by_joins(access.table, plan), default=None) if plan is not None else None
    if plan is not None and planned is not None and plan.nodes[0].rows is not None:
        return _of(case, access, planned, SEEN[plan.source])
    if plan is not None and plan.source is PlanSource.LOG and not any(scans_of(plan, access.table)):
        return None
    figures = {
        SEEN[PlanSource.GENERIC]: planned,
        "by the statistics of its columns": _by_statistics(case, access),
        "by the rows that are returned": _returned(access),
    }
    known = [_of(case, access, rows, name) for name, rows in figures.items() if rows is not None]
    return max(known, key=lambda wanted: wanted.rows, default=None)


def _of(case: Case, access: TableAccess, rows: float, known: str) -> WantedRows:
    reading = reading_of_calls(case, access.work, access.table)
    return WantedRows(work=access.work, table=access.table, rows=rows, known=known, reading=reading)


def _by_joins(table: Table, plan: QueryPlan) -> Iterator[float]:
    for at in scans_of(plan, table):
        rows = _by_join(table, plan, at)
        if rows is not None:
            yield rows


def _by_join(table: Table, plan: QueryPlan, at: int) -> float | None:
    """The rows that the join above this scan wants; None where no index is on a column that it joins by."""
    found = joined_scan(plan.nodes, at)
    if found is None or not any(usable_indexes(table, column) for column in found.columns):
        return None
    return max(found.other, found.came)


def _returned(access: TableAccess) -> float | None:
    """Of a statement that returns every row that it finds."""
    shape = access.work.shape
    return access.work.rows_per_call if shape is not None and shape.returns_what_it_reads else None


def _by_statistics(case: Case, access: TableAccess) -> float | None:
    """The rows that the values of the statement find in the tables that it joins, and those that join them here."""
    sides = {one.mention: one for one in accesses_of_level(case, access.work, access.level)}
    found = []
    for column, other in _joins(case, access, sides):
        fraction = fraction_equal(case, access.table, column)
        rows = _rows_found(case, other, sides, frozenset({access.mention}))
        if fraction is not None and rows is not None and usable_indexes(access.table, column):
            found.append(max(rows, rows * fraction * access.table.live))
    return min(found, default=None)


def _rows_found(
    case: Case, one: TableAccess, sides: Mapping[Mention, TableAccess], seen: frozenset[Mention]
) -> float | None:
    """Rows of a table that equal the statement's values, or join those that do; None where nothing leads to them."""
    equal = _equal_columns(one)
    found = (
        [one.table.live * prod(fraction_common(case, one.table, column) or 1.0 for column in equal)] if equal else []
    )
    for column, other in _joins(case, one, sides):
        if other.mention not in seen:
            fraction = fraction_equal(case, one.table, column)
            rows = _rows_found(case, other, sides, seen | {one.mention})
            if fraction is not None and rows is not None:
                found.append(rows * fraction * one.table.live)
    return max(1.0, min(found)) if found else None


def _equal_columns(one: TableAccess) -> tuple[str, ...]:
    """Columns that equal one value. Of a list nobody knows how many values it has."""
    return tuple(
        dict.fromkeys(
            part.column
            for part in one.comparisons
            if part.wrapped is None and part.other == "value" and part.operator == "="
        )
    )


def _joins(case: Case, one: TableAccess, sides: Mapping[Mention, TableAccess]) -> Iterator[tuple[str, TableAccess]]:
    """Columns of the table that equal those of others, and which others."""
    for part in one.comparisons:
        if part.other == "column" and part.operator == "=" and part.wrapped is None and part.partner is not None:
            other = owner_of(case, part.partner, part.partners)
            if other is not None and other != one.mention and other in sides:
                yield part.column, sides[other]
