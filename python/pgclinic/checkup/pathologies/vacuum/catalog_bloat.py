"""Tables of the system catalog are full of dead rows, or have grown by them."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import dead_rows_evidence, rows_of
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)
from pgclinic.sql.quoting import qualified

#: 8 MB of pg_attribute, more than all catalogs of a new database. Six times as many took 15 % of the throughput of
#: sessions that make temporary tables.
DEAD_MIN = 50_000
#: What temporary tables and other DDL write, and the most that a row of these takes with its index entries apart.
_CHURNED = frozenset({"pg_attribute", "pg_class", "pg_type", "pg_depend", "pg_index", "pg_shdepend", "pg_constraint"})
_ROW_BYTES_MAX = 500
#: Every new connection reads from these catalogs, and so does the planner for each table that it does not know yet.
SPARSE_BYTES_MIN = 100 << 20
_SPARSE_FACTOR = 4


def _detect(case: Case) -> Iterator[Seen]:
    catalogs = [table for table in case.all_tables.values() if table.state.schema == "pg_catalog"]
    dead = [catalog for catalog in catalogs if catalog.dead >= DEAD_MIN and catalog.dead > rows_of(catalog)]
    sparse = [catalog for catalog in catalogs if catalog not in dead and _is_sparse(catalog)]
    if not dead and not sparse:
        return
    dead.sort(key=lambda one: one.dead, reverse=True)
    sparse.sort(key=lambda one: one.state.bytes or 0, reverse=True)
    space = sum(one.state.bytes or 0 for one in (*dead, *sparse))
    yield Seen(
        subject="system catalogs",
        severity=Severity.WARNING if dead else Severity.NOTICE,
        evidence=(
            *(dead_rows_evidence(case, one, *_size(one)) for one in dead),
            *(_sparse_evidence(one) for one in sparse),
        ),
        cost=Cost(
            kind=CostKind.SPACE_BYTES,
            value=space,
            basis=(Fact(name="catalogs", value=len(dead) + len(sparse), unit=Unit.COUNT),),
        ),
        treatments=(*_vacuum(dead), _rewrite([*dead, *sparse])),
    )


def _is_sparse(table: Table) -> bool:
    """Whether its rows would fit a quarter of its file, however large they are."""
    size = table.state.bytes or 0
    if table.state.name not in _CHURNED or size < SPARSE_BYTES_MIN:
        return False
    return size > _SPARSE_FACTOR * rows_of(table) * _ROW_BYTES_MAX


def _size(table: Table) -> tuple[Fact, ...]:
    return (Fact(name="size", value=table.state.bytes, unit=Unit.BYTES),) if table.state.bytes is not None else ()


def _sparse_evidence(table: Table) -> Evidence:
    facts = (Fact(name="live rows", value=round(rows_of(table)), unit=Unit.ROWS), *_size(table))
    return Evidence(kind=SubjectKind.TABLE, name=table.name, facts=facts)


def _vacuum(dead: list[Table]) -> tuple[Treatment, ...]:
    if not dead:
        return ()
    return (
        Treatment(
            title="remove the dead rows",
            applies=Applies.STATEMENT,
            sql=tuple(f"vacuum {qualified(table.state.schema, table.state.name)}" for table in dead),
            lock="ShareUpdateExclusiveLock: everything goes on",
            risk="reads these catalogs once; what a logical slot or a held horizon protects stays",
        ),
    )


def _rewrite(ill: list[Table]) -> Treatment:
    return Treatment(
        title="write the catalogs anew, in a maintenance window",
        applies=Applies.STATEMENT,
        sql=tuple(f"vacuum full {qualified(table.state.schema, table.state.name)}" for table in ill),
        lock="AccessExclusiveLock: every statement of every session waits until it has ended",
        risk="a session that holds one of these catalogs and waits for another deadlocks with it",
    )


PATHOLOGY = Pathology(
    name="catalog-bloat",
    title="the system catalogs are bloated",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="Each temporary table and each DDL statement adds rows to pg_class, pg_attribute, pg_type and "
    "pg_depend, and leaves them dead. Catalog lookups of all sessions visit them until they are vacuumed.",
    threshold="50,000 dead rows, more than live ones: they fill more pages than all catalogs of a new database, while "
    "autovacuum would have come at a fifth of the live rows.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
        "https://www.postgresql.org/docs/current/catalogs.html",
    ),
    detect=_detect,
    explains=("planning-dominates",),
    needs=("counters.tables",),
    no_proof="a twin has catalogs of its own, which are new",
)
