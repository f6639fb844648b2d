"""A foreign key whose column has another type than the one it references."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.foreign_keys import (
    Reference,
    index_of,
    parent_rows_removed,
    reference_evidence,
    references,
    scans_for_removals,
)
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import pages_of
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment
from pgclinic.sql.quoting import identifier, qualified

#: Types within a group are compared by operators of their own, and an index serves both.
_GROUPS = (
    frozenset({"smallint", "integer", "bigint"}),
    frozenset({"real", "double precision"}),
    frozenset({"text", "character varying"}),
    frozenset({"date", "timestamp without time zone", "timestamp with time zone"}),
)
REMOVED_MIN = 20
_SCANS_PER_REMOVAL = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    for reference in references(case):
        unlike = [
            (column, own, parent)
            for column, own, parent in zip(
                reference.state.columns, reference.state.types, reference.state.parent_types, strict=False
            )
            if own != parent and not any({own, parent} <= group for group in _GROUPS)
        ]
        if not unlike:
            continue
        removed, scans = parent_rows_removed(case, reference), scans_for_removals(case, reference)
        scanned = index_of(reference) is not None and removed >= REMOVED_MIN and scans >= _SCANS_PER_REMOVAL * removed
        facts = [Fact(name=f"type of {column}", value=f"{own}, references {parent}") for column, own, parent in unlike]
        yield Seen(
            subject=reference.name,
            severity=Severity.WARNING if scanned else Severity.NOTICE,
            evidence=(reference_evidence(case, reference, *facts),),
            tables=(reference.table.name, reference.parent.name),
            cost=_cost(case, reference) if scanned else None,
            treatments=(_same_type(reference, unlike),),
        )


def _cost(case: Case, reference: Reference) -> Cost:
    return Cost(kind=CostKind.BUFFERS_PER_LOOKUP, value=float(max(pages_of(case, reference.table), 1)))


def _same_type(reference: Reference, unlike: list[tuple[str, str, str]]) -> Treatment:
    name = qualified(reference.table.state.schema, reference.table.state.name)

    def altered(types: list[tuple[str, str]]) -> str:
        parts = (f"alter column {identifier(column)} type {type_}" for column, type_ in types)
        return f"alter table {name} {', '.join(parts)}"

    return Treatment(
        title="give the column the type of the column that it references",
        applies=Applies.STATEMENT,
        sql=(altered([(column, parent) for column, _, parent in unlike]),),
        lock="AccessExclusiveLock while the table and its indexes are written anew",
        risk="nobody reads or writes the table meanwhile, and it needs its size on disk once more",
        undo=(altered([(column, own) for column, own, _ in unlike]),),
    )


PATHOLOGY = Pathology(
    name="foreign-key-type-mismatch",
    title="a foreign key has another type than what it references",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="The check casts the referencing column to the type of the referenced one, and so does every join. An "
    "index on the column itself does not serve the cast, and the whole table is read.",
    threshold="Integers of different size, text and varchar, dates and times are compared without a cast, and an index "
    "serves them. It is a warning once deletions scan the table despite an index.",
    references=("https://www.postgresql.org/docs/current/indexes-opclass.html",),
    detect=_detect,
    explains=("statement-dominates", "reads-many-buffers-per-row"),
    needs=("foreign_keys", "tables", "indexes"),
    proof=ProofOn.TWIN,
)
