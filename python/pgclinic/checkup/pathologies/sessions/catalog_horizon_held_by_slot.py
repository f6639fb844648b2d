"""A logical slot that nobody reads keeps dead rows of the system catalogs alive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.horizon import DEAD_MIN, versions_per_row
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.replication_slots import drop_slot, slot_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Evidence, Fact, Role, Severity, SubjectKind, Unit
from pgclinic.model.snapshot import SlotState

#: One transaction of DDL leaves ten dead catalog rows and more: what a hundred leave is not worth a finding.
XIDS_MIN = 100
#: A subscriber confirms what it has received in seconds; one that is so far behind reads nothing.
XIDS_MIN_IN_USE = 1_000_000
_TABLES_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    hurt = _hurt_catalogs(case)
    for slot in case.snapshot.slots:
        age = slot.catalog_xmin_age or 0
        if not hurt or age < (XIDS_MIN_IN_USE if slot.active else XIDS_MIN):
            continue
        yield Seen(
            subject=f"slot {slot.name}",
            severity=Severity.WARNING,
            evidence=(slot_evidence(slot, _behind(slot)), *(_evidence(table) for table in hurt[:_TABLES_NAMED])),
            tables=tuple(table.name for table in hurt),
            cost=Cost(
                kind=CostKind.SPACE_BYTES,
                value=float(sum(table.total_bytes for table in hurt)),
                basis=(Fact(name="dead rows", value=sum(table.dead for table in hurt), unit=Unit.ROWS),),
            ),
            treatments=(
                drop_slot(slot, risk="its subscriber loses all changes since it was last here and must be filled anew"),
            ),
        )


def _hurt_catalogs(case: Case) -> list[Table]:
    """With more dead rows than live ones."""
    ill = [
        table
        for table in case.all_tables.values()
        if table.state.schema == "pg_catalog" and table.dead >= DEAD_MIN and table.dead > table.live
    ]
    return sorted(ill, key=versions_per_row, reverse=True)


def _behind(slot: SlotState) -> Fact:
    return Fact(name="catalog_xmin behind", value=slot.catalog_xmin_age or 0, unit=Unit.TRANSACTIONS)


def _evidence(table: Table) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="dead rows", value=table.dead, unit=Unit.ROWS),
            Fact(name="live rows", value=table.live, unit=Unit.ROWS),
            Fact(name="size", value=table.total_bytes, unit=Unit.BYTES),
        ),
    )


PATHOLOGY = Pathology(
    name="catalog-horizon-held-by-slot",
    title="a logical slot holds the horizon of the catalogs",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="A logical slot keeps every dead row of the system catalogs that is newer than its catalog_xmin, as "
    "decoding may need it. Where DDL or temporary tables make such rows, planning and each further DDL get slower.",
    threshold="1,000 dead rows and more dead than live ones in a catalog: below that the rows of a lookup in a catalog "
    "still share a page or two.",
    references=(
        "https://www.postgresql.org/docs/current/logicaldecoding-explanation.html#LOGICALDECODING-REPLICATION-SLOTS",
        "https://www.postgresql.org/docs/current/view-pg-replication-slots.html",
    ),
    detect=_detect,
    explains=("catalog-bloat", "autovacuum-without-effect"),
    needs=("slots", "counters.tables"),
    no_proof="a twin has new catalogs and no slot; ending the hold lets VACUUM remove the rows, which needs no proof",
)
