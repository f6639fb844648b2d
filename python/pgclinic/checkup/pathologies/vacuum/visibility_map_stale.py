"""Index-only scans read the table all the same, as its pages are not marked all-visible."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.autovacuum_trigger import is_vacuum_due
from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import vacuumed_fact
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import vacuum
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
from pgclinic.model.snapshot_counters import IndexCounters
from pgclinic.sql.quoting import qualified

#: A smaller table is read from memory in no time, whatever its map says.
PAGES_MIN = 1_000
#: Autovacuum leaves a fifth of the rows on pages that are not all-visible, by its default scale factors.
VISIBLE_SHARE_MAX = 0.5
ENTRIES_MIN = 10_000
#: An index-only scan reads the table for each such entry as a plain one does.
FETCHED_SHARE_MIN = 0.5
#: A page from memory for each: 1 % of a CPU, or 1,000 reads of a disk.
FETCHES_A_S_WARNING = 1_000.0


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        pages = (table.state.bytes or 0) / case.snapshot.server.block_bytes
        if pages < PAGES_MIN or table.state.all_visible_pages >= VISIBLE_SHARE_MAX * pages:
            continue
        # What autovacuum is about to do is no illness.
        if is_vacuum_due(case, table):
            continue
        fetching = [(index, found) for index in table.indexes if (found := _fetches(case, index)) is not None]
        if not fetching:
            continue
        fetches_a_s = sum(found for _, found in fetching) / _in_s(case)
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if fetches_a_s >= FETCHES_A_S_WARNING else Severity.NOTICE,
            confidence=Confidence.LIKELY,
            evidence=(
                _table_evidence(case, table, pages, fetches_a_s),
                *(_index_evidence(index, found) for index, found in fetching),
            ),
            tables=(table.name,),
            treatments=_treatments(table),
        )


def _fetches(case: Case, index: Index) -> float | None:
    """Rows that scans of a covering index fetched from the table; None unless that is most of its entries.

    Only an index with included columns is surely meant for index-only scans.
    """
    if not index.state.included or index.counters is None:
        return None
    before = case.snapshot.counters_before
    old = (
        next((counters for counters in before.indexes if counters.oid == index.state.oid), None)
        if before is not None
        else None
    )
    entries, rows = _grown(index.counters, old)
    if entries < ENTRIES_MIN:
        entries, rows = float(index.counters.entries), float(index.counters.rows)
    return rows if entries >= ENTRIES_MIN and rows >= FETCHED_SHARE_MIN * entries else None


def _grown(now: IndexCounters, before: IndexCounters | None) -> tuple[float, float]:
    if before is None or now.entries < before.entries:
        return float(now.entries), float(now.rows)
    return float(now.entries - before.entries), float(now.rows - before.rows)


def _in_s(case: Case) -> float:
    return case.observed_s or case.database_s


def _table_evidence(case: Case, table: Table, pages: float, fetches_a_s: float) -> Evidence:
    inserted = table.counters.inserted_since_vacuum if table.counters is not None else 0
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="pages", value=round(pages), unit=Unit.COUNT),
            Fact(name="all-visible pages", value=table.state.all_visible_pages, unit=Unit.COUNT),
            Fact(name="rows inserted since the last vacuum", value=inserted, unit=Unit.ROWS),
            Fact(name="rows that index-only scans fetch from it", value=fetches_a_s, unit=Unit.PER_S),
            vacuumed_fact(case, table),
        ),
    )


def _index_evidence(index: Index, fetched: float) -> Evidence:
    counters = index.counters
    return Evidence(
        kind=SubjectKind.INDEX,
        name=index.qualified,
        facts=(
            Fact(name="scans", value=counters.scans if counters is not None else 0, unit=Unit.COUNT),
            Fact(name="rows fetched from the table", value=round(fetched), unit=Unit.ROWS),
        ),
    )


def _treatments(table: Table) -> tuple[Treatment, ...]:
    name = qualified(table.state.schema, table.state.name)
    own = table.option("autovacuum_vacuum_insert_threshold")
    back = "reset (autovacuum_vacuum_insert_threshold)"
    return (
        vacuum(table.state, title="mark its pages all-visible"),
        Treatment(
            title="let inserts start a VACUUM",
            applies=Applies.STATEMENT,
            sql=(
                f"alter table {name} set (autovacuum_vacuum_insert_threshold = 1000, "
                "autovacuum_vacuum_insert_scale_factor = 0.05)",
            ),
            lock="ShareUpdateExclusiveLock: reads and writes go on",
            risk="the table is vacuumed more often",
            undo=(
                f"alter table {name} reset (autovacuum_vacuum_insert_scale_factor)",
                f"alter table {name} " + (back if own is None else f"set (autovacuum_vacuum_insert_threshold = {own})"),
            ),
            prevents=True,
        ),
    )


PATHOLOGY = Pathology(
    name="visibility-map-stale",
    title="index-only scans read the table, whose pages are not marked all-visible",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="An index-only scan skips the table for rows on pages that the visibility map calls all-visible, and "
    "only VACUUM sets that. Where the map is stale, each entry of the index costs a visit of the table.",
    threshold="Half of the pages are not all-visible, no VACUUM is due, and a covering index fetched most of its rows "
    "from the table: autovacuum at its defaults leaves a fifth. A warning is 1,000 rows fetched a second.",
    references=(
        "https://www.postgresql.org/docs/current/indexes-index-only-scans.html",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-VISIBILITY-MAP",
    ),
    detect=_detect,
    needs=("counters.tables", "counters.indexes"),
    no_proof="a twin is vacuumed after it was filled",
)
