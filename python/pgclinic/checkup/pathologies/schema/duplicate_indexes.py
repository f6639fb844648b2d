"""Two indexes with the same entries."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.index_upkeep import drop_index, severity_of_needless, space_cost
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import index_evidence
from pgclinic.model.finding import Applies, Area, Role, Treatment
from pgclinic.sql.quoting import identifier, qualified


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        alike: dict[tuple[str, str | None, str | None], list[Index]] = {}
        for index in table.indexes:
            state = index.state
            unread = (state.has_expressions and state.expressions is None) or (
                state.is_partial and state.predicate is None
            )
            if state.is_valid and state.is_ready and not unread and not state.is_exclusion and state.parent_oid is None:
                alike.setdefault((state.signature, state.expressions, state.predicate), []).append(index)
        for those in alike.values():
            kept, *needless = sorted(those, key=_needed)
            needless = [one for one in needless if not one.state.is_replica_identity and not one.state.is_primary]
            if needless:
                yield _seen(case, table, kept, tuple(needless))


def _needed(index: Index) -> tuple[int, int]:
    """The one that stays comes first: it enforces something, or it is the oldest."""
    state = index.state
    for rank, holds in enumerate((state.is_primary, state.is_replica_identity, state.is_constraint, state.is_unique)):
        if holds:
            return (rank, state.oid)
    return (9, state.oid)


def _seen(case: Case, table: Table, kept: Index, needless: tuple[Index, ...]) -> Seen:
    return Seen(
        subject=f"{table.name}: {', '.join(one.state.name for one in needless)} = {kept.state.name}",
        severity=severity_of_needless(case, table, needless),
        evidence=tuple(index_evidence(index) for index in (kept, *needless)),
        tables=(table.name,),
        cost=space_cost(case, table, needless),
        treatments=tuple(_drop(table, index, kept) for index in needless),
    )


def _drop(table: Table, index: Index, kept: Index) -> Treatment:
    title = f"drop {index.state.name}"
    risk = f"none for reading: {kept.state.name} has the same entries; a hint or a script may know the name"
    if not index.state.is_constraint:
        return drop_index(index, title=title, risk=risk)
    name = qualified(table.state.schema, table.state.name)
    constraint = identifier(index.state.name)
    columns = ", ".join(identifier(column) for column in index.state.columns)
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"alter table {name} drop constraint {constraint}",),
        lock="AccessExclusiveLock for a moment",
        risk="refused where a foreign key depends on this constraint",
        undo=(f"alter table {name} add constraint {constraint} unique ({columns})",),
    )


PATHOLOGY = Pathology(
    name="duplicate-indexes",
    title="two indexes have the same entries",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="Both are written by every insert and every update that is not HOT, and both take room in "
    "shared_buffers. The planner uses only one of them at a time.",
    threshold="Two indexes differ if their columns, operator classes, collations, orders, expressions or predicates "
    "do.",
    references=("https://www.postgresql.org/docs/current/indexes-unique.html",),
    detect=_detect,
    explains=("unused-indexes",),
    needs=("tables", "indexes"),
    proof=ProofOn.TWIN,
)
