"""A statement reads a whole table to find few rows by a column that no index begins with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.index_candidates import IndexCandidate, index_candidates
from pgclinic.checkup.index_upkeep import create_index
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
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
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.pg.identifiers import identifier

#: Fewer calls since the statistics were reset are somebody's question, and not what an application does.
CALLS_MIN = 20
#: More columns seldom find fewer rows, and every one makes the index larger.
_COLUMNS_MAX = 3
_CANDIDATES_NAMED = 3


def _detect(case: Case) -> Iterator[Seen]:
    found: dict[tuple[int, tuple[str, ...]], list[Access]] = {}
    for access in accesses(case):
        columns = _columns(case, access)
        if columns:
            found.setdefault((access.table.state.oid, columns), []).append(access)
    candidates = index_candidates(case) if found else ()
    for (_, columns), those in found.items():
        table = those[0].table
        works = tuple({one.work.query_id: one.work for one in those}.values())
        yield Seen(
            subject=f"{table.name} ({', '.join(columns)})",
            severity=severity_of(case, works),
            confidence=Confidence.LIKELY,
            evidence=(
                table_evidence(table, Fact(name="pages", value=pages_of(case, table), unit=Unit.BUFFERS)),
                *(
                    statement_evidence(
                        case,
                        one,
                        Fact(name="buffers each call", value=one.buffers_per_call, unit=Unit.BUFFERS),
                        Fact(name="rows each call", value=one.rows_per_call, unit=Unit.ROWS),
                    )
                    for one in works
                ),
            ),
            tables=(table.name,),
            cost=time_cost(case, works),
            claim=time_claim(works),
            treatments=_treatments(candidates, table, columns, {one.query_id for one in works}),
        )


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


def _columns(case: Case, access: Access) -> tuple[str, ...]:
    """The columns of an index that is missed, those that find the fewest rows first; none if none is missed."""
    if access.work.calls < CALLS_MIN or not reads_whole(case, access):
        return ()
    plain = {one.column for one in access.comparisons if one.wrapped is None}
    if any(usable_indexes(access.table, column) for column in plain):
        # The planner has a choice; that it takes the scan is another illness, or none.
        return ()
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


def _fraction_returned(access: Access) -> float | None:
    """Of a statement on one table that returns every row it finds."""
    shape = access.work.shape
    if shape is None or not shape.returns_what_it_reads or access.level.sources != 1 or len(shape.levels) > 1:
        return None
    return access.work.rows_per_call / max(access.table.live, 1.0)


PATHOLOGY = Pathology(
    name="missing-index",
    title="a statement reads a whole table to find few rows",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="No index begins with a column that the statement compares with a value, so each call reads every row of "
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
