"""A statement reads a whole table to find few rows, by a value or by a join, and no index begins with their column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.index_candidates import IndexCandidate, index_candidates
from pgclinic.checkup.index_upkeep import create_index
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planned_scans import WastefulScan, scans_of, wasteful_scans
from pgclinic.checkup.searched_tables import SearchedTable, searched_tables, statement_costs
from pgclinic.checkup.table_access import (
    FRACTION_MAX,
    Access,
    accesses,
    fraction_equal,
    pages_of,
    reads_whole,
    table_evidence,
    usable_indexes,
)
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.model.query_plan import PlanSource
from pgclinic.pg.identifiers import identifier

#: Fewer calls since the statistics were reset are somebody's question, and not what an application does.
CALLS_MIN = 20
#: More columns seldom find fewer rows, and every one makes the index larger.
_COLUMNS_MAX = 3
_CANDIDATES_NAMED = 3


@dataclass(frozen=True)
class _Lead:
    """A statement that misses an index on ``columns``; ``scan`` is what its plan shows of it, where that is known."""

    work: Work
    table: Table
    columns: tuple[str, ...]
    scan: WastefulScan | None


def _detect(case: Case) -> Iterator[Seen]:
    found: dict[tuple[int, tuple[str, ...]], list[_Lead]] = {}
    for lead in _leads(case):
        found.setdefault((lead.table.state.oid, lead.columns), []).append(lead)
    candidates = index_candidates(case) if found else ()
    for (_, columns), leads in found.items():
        table = leads[0].table
        works = tuple({lead.work.query_id: lead.work for lead in leads}.values())
        yield Seen(
            subject=f"{table.name} ({', '.join(columns)})",
            severity=severity_of(case, works),
            confidence=Confidence.CERTAIN if all(_was_seen(lead) for lead in leads) else Confidence.LIKELY,
            evidence=(
                table_evidence(table, Fact(name="pages", value=pages_of(case, table), unit=Unit.BUFFERS)),
                *(
                    statement_evidence(
                        case,
                        lead.work,
                        Fact(name="buffers each call", value=lead.work.buffers_per_call, unit=Unit.BUFFERS),
                        Fact(name="rows each call", value=lead.work.rows_per_call, unit=Unit.ROWS),
                        *(lead.scan.facts() if lead.scan is not None else ()),
                    )
                    for lead in {lead.work.query_id: lead for lead in leads}.values()
                ),
            ),
            tables=(table.name,),
            cost=time_cost(case, works),
            claim=time_claim(works),
            treatments=_treatments(candidates, table, columns, {work.query_id for work in works}),
        )


def _was_seen(lead: _Lead) -> bool:
    return lead.scan is not None and lead.scan.counted


def _leads(case: Case) -> Iterator[_Lead]:
    """By texts and counters, unless a plan in the log knows better; then by plans of texts that say nothing."""
    scans = {(scan.work.query_id, scan.table.state.oid): scan for scan in wasteful_scans(case)}
    joined, known = _Joined(case), set()
    for access in accesses(case):
        key = (access.work.query_id, access.table.state.oid)
        columns = _columns(case, access, joined)
        if columns and not _took_an_index(case, access):
            known.add(key)
            yield _Lead(access.work, access.table, columns, scans.get(key))
    for key, scan in scans.items():
        if key in known or _calls_since_reset(case, scan.work.query_id) < CALLS_MIN:
            continue
        if not any(usable_indexes(scan.table, column) for column in scan.columns):
            yield _Lead(scan.work, scan.table, scan.columns[:_COLUMNS_MAX], scan)


def _took_an_index(case: Case, access: Access) -> bool:
    """Whether the slowest call in the log ran without reading the whole table."""
    plan = case.plans.get(access.work.query_id)
    if plan is None or plan.source is not PlanSource.LOG:
        return False
    return not any(scans_of(plan, access.table))


def _treatments(
    candidates: Iterable[IndexCandidate], table: Table, columns: tuple[str, ...], query_ids: set[int]
) -> tuple[Treatment, ...]:
    """Indexes that fit the whole statement, its ranges and its order among it; else one on the columns alone."""
    own = create_index(table, columns, title=f"create an index on {', '.join(columns)}")
    first = {identifier(one) for one in columns}
    fitting = tuple(
        one.treatment()
        for one in candidates
        if one.table.state.oid == table.state.oid and query_ids & set(one.query_ids) and one.keys[0] in first
    )
    return (*fitting[:_CANDIDATES_NAMED], *(() if fitting else (own,)))


class _Joined:
    """Columns by which statements look for rows of a table that join few rows of another; read when first asked for."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._found: dict[tuple[int, int], tuple[str, ...]] | None = None

    def columns(self, query_id: int, table: Table) -> tuple[str, ...]:
        if self._found is None:
            self._found = {
                (cost.query_id, one.table.state.oid): one.joined[:1]
                for cost, tables in searched_tables(self._case, statement_costs(self._case))
                for one in tables
                if one.joined and self._is_selective(one, tables)
            }
        return self._found.get((query_id, table.state.oid), ())

    def _is_selective(self, one: SearchedTable, tables: Sequence[SearchedTable]) -> bool:
        """Whether the rows that the others' values lead to join a small part of this table's."""
        fraction = fraction_equal(self._case, one.table, one.joined[0])
        by_number = {other.number: other for other in tables}
        leading = [
            rows
            for column, number in one.joins
            if column == one.joined[0] and (rows := self._rows_found(number, by_number, {one.number})) is not None
        ]
        return fraction is not None and bool(leading) and fraction * min(leading) <= FRACTION_MAX

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


def _columns(case: Case, access: Access, joined: _Joined) -> tuple[str, ...]:
    """The columns of an index that is missed, those that find the fewest rows first; none if none is missed."""
    if _calls_since_reset(case, access.work.query_id) < CALLS_MIN or not reads_whole(case, access):
        return ()
    plain = {one.column for one in access.comparisons if one.wrapped is None and one.other == "value"}
    if any(usable_indexes(access.table, column) for column in plain):
        # The planner has a choice; that it takes the scan is another illness, or none.
        return ()
    by_join = joined.columns(access.work.query_id, access.table)
    if not plain and by_join:
        return () if usable_indexes(access.table, by_join[0]) else by_join
    fractions = {column: fraction_equal(case, access.table, column) for column in access.equal_columns()}
    known = sorted((fraction, column) for column, fraction in fractions.items() if fraction is not None)
    if known:
        whole = 1.0
        columns: list[str] = []
        for fraction, column in known[:_COLUMNS_MAX]:
            # Another column is worth its place if it leaves half of the rows or fewer.
            if whole * access.table.live > 1 and (fraction <= 0.5 or not columns):
                columns.append(column)
                whole *= fraction
        return tuple(columns) if whole <= FRACTION_MAX else ()
    measured = _fraction_returned(access)
    return tuple(fractions)[:_COLUMNS_MAX] if fractions and measured is not None and measured <= FRACTION_MAX else ()


def _calls_since_reset(case: Case, query_id: int) -> int:
    """Of all roles: a statement that takes seconds runs a few times in an observation, however often it did before."""
    return sum(one.calls for one in case.snapshot.counters.statements if one.query_id == query_id)


def _fraction_returned(access: Access) -> float | None:
    """Of a statement on one table that returns every row it finds."""
    shape = access.work.shape
    if shape is None or not shape.returns_what_it_reads or access.level.sources != 1 or len(shape.levels) > 1:
        return None
    return access.work.rows_per_call / max(access.table.live, 1.0)


PATHOLOGY = Pathology(
    name="missing-index",
    title="missing index, full scans of the table",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="No index begins with a column by which the statement looks for rows, so each call reads every row of "
    "the table. The time grows with the table, where that of an index lookup stays at three or four buffers.",
    threshold="A table below 50 pages is read in a fraction of a millisecond, and where more than one row in twenty "
    "matches, most pages have to be read by way of an index as well.",
    references=(
        "https://www.postgresql.org/docs/current/indexes-intro.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates", "table-scanned-in-a-loop", "shared-buffers-small"),
    needs=("counters.statements", "statement_texts", "tables", "indexes"),
    proof=ProofOn.TWIN,
)
