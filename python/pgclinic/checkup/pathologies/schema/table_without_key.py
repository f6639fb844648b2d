"""A table without a primary key whose rows are updated or deleted, or that is replicated by whole rows."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.sql.quoting import qualified

#: Fewer changes than these are no traffic that a subscriber would notice.
CHANGED_MIN = 1_000
#: On a smaller table a subscriber finds a row by reading all of it as fast as by an index.
ROWS_MIN = 1_000


def _detect(case: Case) -> Iterator[Seen]:
    slots = tuple(
        slot for slot in case.snapshot.slots if slot.kind == "logical" and slot.database in (None, _here(case))
    )
    for table in case.tables:
        counters = table.counters
        if counters is None or table.state.is_partition or table.live < ROWS_MIN:
            continue
        changed = counters.updated + counters.deleted
        whole_rows = table.state.replica_identity == "f" and bool(slots)
        if changed < CHANGED_MIN or not (whole_rows or not _has_key(table)):
            continue
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if whole_rows else Severity.NOTICE,
            evidence=(
                table_evidence(
                    table,
                    Fact(name="rows updated or deleted", value=changed, unit=Unit.ROWS),
                    Fact(name="replica identity", value=_IDENTITIES.get(table.state.replica_identity, "default")),
                ),
                *(Evidence(kind=SubjectKind.SLOT, name=slot.name) for slot in slots if whole_rows),
            ),
            tables=(table.name,),
            treatments=tuple(_treatments(table, whole_rows=whole_rows)),
        )


_IDENTITIES = {"d": "default", "n": "nothing", "f": "full", "i": "an index"}


def _here(case: Case) -> str:
    return case.snapshot.server.database


def _has_key(table: Table) -> bool:
    return any(index.state.is_unique and index.state.is_valid and not index.state.is_partial for index in table.indexes)


def _treatments(table: Table, *, whole_rows: bool) -> Iterator[Treatment]:
    name = qualified(table.state.schema, table.state.name)
    has_primary = any(index.state.is_primary for index in table.indexes)
    sql = (
        [] if has_primary else [f"alter table {name} add column row_id bigint generated always as identity primary key"]
    )
    undo = [] if has_primary else [f"alter table {name} drop column row_id"]
    if whole_rows:
        sql.append(f"alter table {name} replica identity default")
        undo.insert(0, f"alter table {name} replica identity full")
    yield Treatment(
        title="identify rows by the primary key" if has_primary else "add a primary key",
        applies=Applies.STATEMENT,
        sql=tuple(sql),
        lock="AccessExclusiveLock" + ("" if has_primary else " while the table is written anew"),
        risk="subscribers must have the key as well, before the publisher sends it"
        if whole_rows
        else "nobody reads or writes the table meanwhile; inserts without a list of columns still work",
        undo=tuple(undo),
    )


PATHOLOGY = Pathology(
    name="table-without-key",
    title="rows are changed in a table that has no key",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="Logical replication finds a row by its key; with REPLICA IDENTITY FULL each change carries the whole "
    "old row in the WAL, and the subscriber reads its table for each. Without any key a publication refuses the "
    "change.",
    threshold="A table that is only appended to needs no key, nor does one with fewer than 1,000 rows. It is a warning "
    "where a logical slot sends whole rows now.",
    references=("https://www.postgresql.org/docs/current/logical-replication-publication.html",),
    detect=_detect,
    explains=("standby-lags", "slot-keeps-wal"),
    needs=("tables", "indexes", "slots", "counters.tables"),
    no_proof="the cost is that of a subscriber, and a twin has none",
)
