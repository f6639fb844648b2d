"""Foreign keys with both of their tables, and whether an index finds the referencing rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.model.finding import Evidence, Fact, SubjectKind, Unit
from pgclinic.model.snapshot import ForeignKeyState


@dataclass(frozen=True)
class Reference:
    """``table`` has the foreign key, ``parent`` the rows that it names."""

    state: ForeignKeyState
    table: Table
    parent: Table

    @property
    def name(self) -> str:
        return f"{self.table.name}.{self.state.name}"


def references(case: Case) -> Iterator[Reference]:
    """The foreign keys between tables of users that have rows of their own."""
    tables = {one.state.oid: one for one in case.tables}
    for state in case.snapshot.foreign_keys:
        table, parent = tables.get(state.table_oid), tables.get(state.parent_oid)
        if table is not None and parent is not None:
            yield Reference(state=state, table=table, parent=parent)


def index_of(reference: Reference) -> Index | None:
    """An index by which the rows that name one parent row are found: it begins with columns of the key."""
    wanted = set(reference.state.columns)
    for index in reference.table.indexes:
        state = index.state
        whole = not state.is_partial or _skips_nulls_alone(index, reference)
        if (
            state.is_valid
            and whole
            and state.method in ("btree", "hash")
            and state.columns[:1]
            and state.columns[0] in wanted
        ):
            return index
    return None


def parent_rows_removed(case: Case, reference: Reference) -> float:
    """Deletions of parent rows: of the observation if there was one with any, else since the reset."""
    counters = reference.parent.counters
    if counters is None:
        return 0.0
    return case.table_change(reference.parent.state.oid, "deleted") or float(counters.deleted)


def scans_for_removals(case: Case, reference: Reference) -> float:
    """Sequential scans of the referencing table in the same time."""
    counters = reference.table.counters
    if counters is None:
        return 0.0
    if case.table_change(reference.parent.state.oid, "deleted"):
        return case.table_change(reference.table.state.oid, "sequential_scans")
    return float(counters.sequential_scans)


def reference_evidence(case: Case, reference: Reference, *facts: Fact) -> Evidence:
    state = reference.state
    columns, parents = ", ".join(state.columns), ", ".join(state.parent_columns)
    return Evidence(
        kind=SubjectKind.TABLE,
        name=reference.table.name,
        facts=(
            Fact(name="foreign key", value=f"{state.name} ({columns})"),
            Fact(name="references", value=f"{reference.parent.name} ({parents})"),
            Fact(name="rows", value=reference.table.live, unit=Unit.ROWS),
            Fact(name="sequential scans", value=scans_for_removals(case, reference), unit=Unit.COUNT),
            Fact(
                name="rows deleted from the referenced table",
                value=parent_rows_removed(case, reference),
                unit=Unit.ROWS,
            ),
            *facts,
        ),
    )


def _skips_nulls_alone(index: Index, reference: Reference) -> bool:
    """A check of a foreign key never looks for null, so an index without nulls serves it."""
    predicate = (index.state.predicate or "").replace('"', "")
    return any(predicate == f"({column} IS NOT NULL)" for column in reference.state.columns)
