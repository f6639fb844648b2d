"""Indexes that were never scanned while their table was in use."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.index_upkeep import drop_index, index_entries, severity_of_needless, space_cost
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import index_evidence, table_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: The table's other indexes answered so many questions, and this one none of them.
OTHER_SCANS_MIN = 1_000
#: So many entries were written for nobody.
ENTRIES_MIN = 1_000
#: A report that runs once a week, or at the end of a month, has had its turn after this.
CYCLE_S = 31 * 86_400.0
_WEEK_S = 7 * 86_400.0


def _detect(case: Case) -> Iterator[Seen]:
    if case.snapshot.server.in_recovery:
        # A standby counts its own scans; the primary may use them all.
        return
    counted_s = case.database_s
    for table in case.tables:
        unused = tuple(index for index in table.indexes if _is_unused(case, index))
        scans = sum(index.counters.scans for index in table.indexes if index.counters is not None)
        if not unused or scans < OTHER_SCANS_MIN or index_entries(case, table) + _written(table) < ENTRIES_MIN:
            continue
        severity = severity_of_needless(case, table, unused) if counted_s >= _WEEK_S else Severity.NOTICE
        yield Seen(
            subject=table.name,
            severity=severity,
            confidence=Confidence.LIKELY if counted_s >= CYCLE_S else Confidence.POSSIBLE,
            evidence=(
                table_evidence(
                    table,
                    Fact(name="scans of its other indexes", value=scans, unit=Unit.COUNT),
                    Fact(name="counted for", value=counted_s, unit=Unit.SECONDS),
                ),
                *(index_evidence(one) for one in unused),
            ),
            tables=(table.name,),
            cost=space_cost(case, table, unused),
            treatments=tuple(
                drop_index(
                    one,
                    title=f"drop {one.state.name}",
                    risk="a statement that runs seldom, or on a standby alone, may need it: look at its scans on every "
                    "standby, and wait for a whole cycle of business",
                )
                for one in unused
            ),
        )


def _is_unused(case: Case, index: Index) -> bool:
    state, counters = index.state, index.counters
    if counters is None or not state.is_valid or state.is_unique or state.is_constraint or state.is_replica_identity:
        return False
    if state.parent_oid is not None:
        # That of a partition cannot be dropped alone.
        return False
    if not counters.scans:
        return True
    last = counters.last_scan_epoch_s
    return last is not None and case.snapshot.server.clock_epoch_s - last > 3 * CYCLE_S


def _written(table: Table) -> int:
    counters = table.counters
    return counters.inserted + max(counters.updated - counters.updated_hot, 0) if counters is not None else 0


PATHOLOGY = Pathology(
    name="unused-indexes",
    title="indexes that nothing reads are kept up by every write",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="Each insert, and each update that is not HOT, writes an entry into every index of the table, with its "
    "WAL. An index on a column that changes also keeps updates from being HOT.",
    threshold="Without 1,000 scans of the table's other indexes and 1,000 entries written, nothing is known of what "
    "the table is used for. It is a warning only after a week, at 100 needless entries a second or 1 GB.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-INDEXES-VIEW",
        "https://www.postgresql.org/docs/current/storage-hot.html",
    ),
    detect=_detect,
    explains=("hot-updates-lost", "index-bloat", "full-page-image-storm"),
    needs=("tables", "indexes", "counters.tables", "counters.indexes"),
    proof=ProofOn.TWIN,
)
