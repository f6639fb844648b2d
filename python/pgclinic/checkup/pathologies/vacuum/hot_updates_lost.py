"""Updates are not HOT, because they change a column that has an index."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index, Statement, Table
from pgclinic.checkup.index_upkeep import drop_index
from pgclinic.checkup.pathologies.vacuum.assigned_columns import assigned_columns, updating_statements
from pgclinic.checkup.pathologies.vacuum.update_counts import UpdateCounts, update_counts
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

#: The larger part: a few updates that change an indexed column are what the index is for.
LOST_SHARE_MIN = 0.5
#: An entry is about 10 µs of CPU and 100 bytes of WAL: 1 % of a CPU.
ENTRIES_A_S_WARNING = 1_000.0
_STATEMENTS_NAMED = 3


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        counts = update_counts(case, table)
        if counts is None or counts.lost_on_page < LOST_SHARE_MIN * counts.updates:
            continue
        statements = updating_statements(case, table)
        changed = frozenset[str]().union(*(assigned_columns(statement.text) for statement in statements))
        indexes = _written(table, changed)
        if not indexes:
            continue
        entries_a_s = counts.lost_on_page * len(table.indexes) / counts.in_s
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if entries_a_s >= ENTRIES_A_S_WARNING else Severity.NOTICE,
            confidence=Confidence.LIKELY if changed else Confidence.POSSIBLE,
            evidence=(
                _table_evidence(table, counts, entries_a_s),
                *(_index_evidence(index) for index in indexes),
                *(_statement_evidence(statement) for statement in statements[:_STATEMENTS_NAMED]),
            ),
            tables=(table.name,),
            treatments=tuple(_treatment(index) for index in indexes),
        )


def _written(table: Table, changed: frozenset[str]) -> list[Index]:
    """Indexes whose columns are updated, those that nobody scans first; without any texts, all that may be.

    BRIN does not stand in the way of a HOT update since 16, and never points to single rows.
    """
    candidates = [index for index in table.indexes if not index.state.is_primary and index.state.method != "brin"]
    if changed:
        candidates = [candidate for candidate in candidates if _covers(candidate, changed)]
    return sorted(candidates, key=lambda one: (_scans(one), one.qualified))


def _covers(index: Index, changed: frozenset[str]) -> bool:
    columns = {*index.state.columns, *index.state.included}
    if columns & changed:
        return True
    # What is inside of an expression or a condition is known by its text alone.
    text = f"{index.state.expressions or ''} {index.state.predicate or ''}".lower()
    return any(name in text for name in changed)


def _scans(index: Index) -> int:
    return index.counters.scans if index.counters is not None else 0


def _table_evidence(table: Table, counts: UpdateCounts, entries_a_s: float) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="updates", value=round(counts.updates), unit=Unit.COUNT),
            Fact(name="HOT updates", value=counts.hot / counts.updates, unit=Unit.SHARE),
            Fact(name="in", value=counts.in_s, unit=Unit.SECONDS),
            Fact(name="indexes", value=len(table.indexes), unit=Unit.COUNT),
            Fact(name="index entries written by them", value=entries_a_s, unit=Unit.PER_S),
        ),
    )


def _index_evidence(index: Index) -> Evidence:
    facts = [
        Fact(name="columns", value=", ".join(name or "expression" for name in index.state.columns)),
        Fact(name="scans", value=_scans(index), unit=Unit.COUNT),
    ]
    return Evidence(kind=SubjectKind.INDEX, name=index.qualified, facts=tuple(facts))


def _statement_evidence(statement: Statement) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=statement.text,
        query_id=statement.query_id,
        facts=(
            Fact(name="calls", value=statement.counters.calls, unit=Unit.COUNT),
            Fact(name="WAL", value=statement.counters.wal_bytes, unit=Unit.BYTES),
        ),
    )


def _treatment(index: Index) -> Treatment:
    is_needed = index.state.is_unique or index.state.is_constraint or index.state.is_exclusion
    if is_needed or _scans(index):
        return Treatment(
            title=f"keep the column that changes out of {index.qualified}, or move it to a table of its own",
            applies=Applies.APPLICATION,
            risk="statements that find rows by this column need the index",
        )
    return drop_index(
        index,
        title=f"drop {index.qualified}, which nobody scans",
        risk="a statement that runs seldom, or on a standby alone, may need it",
    )


PATHOLOGY = Pathology(
    name="hot-updates-lost",
    title="updates change an indexed column and are not HOT",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="An update that changes no indexed column puts the new version beside the old one and leaves the "
    "indexes alone (HOT). One that changes an indexed column writes a new entry into every index of the table, with "
    "its WAL. The old entries stay until VACUUM, or until a page of a B-tree is full and its dead entries are deleted.",
    threshold="Half of the updates, of at least 10,000 and two for each row: one bulk update says nothing about the "
    "load. A warning is 1,000 index entries a second, about 1 % of a CPU.",
    references=(
        "https://www.postgresql.org/docs/current/storage-hot.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ),
    detect=_detect,
    explains=("dead-rows", "index-bloat"),
    needs=("counters.tables",),
    proof=ProofOn.TWIN,
)
