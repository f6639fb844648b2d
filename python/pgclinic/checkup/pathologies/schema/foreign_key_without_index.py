"""A foreign key whose referencing rows no index finds, while rows of the referenced table are deleted."""

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
from pgclinic.checkup.index_upkeep import create_index
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import pages_of
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: A table with fewer rows is scanned in less time than the trigger of the foreign key takes.
ROWS_MIN = 1_000
REMOVED_MIN = 20
#: The check stops at the first row that it finds, but the deletion is refused then: what succeeds read it all.
_SCANS_PER_REMOVAL = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    for reference in references(case):
        removed = parent_rows_removed(case, reference)
        if reference.table.live < ROWS_MIN or removed < REMOVED_MIN or index_of(reference) is not None:
            continue
        scans = scans_for_removals(case, reference)
        yield Seen(
            subject=reference.name,
            severity=Severity.WARNING if scans >= _SCANS_PER_REMOVAL * removed else Severity.NOTICE,
            evidence=(reference_evidence(case, reference),),
            tables=(reference.table.name, reference.parent.name),
            cost=_cost(case, reference),
            treatments=(
                create_index(
                    reference.table,
                    reference.state.columns,
                    title=f"create an index on {', '.join(reference.state.columns)}",
                ),
            ),
        )


def _cost(case: Case, reference: Reference) -> Cost:
    return Cost(
        kind=CostKind.BUFFERS_PER_LOOKUP,
        value=float(max(pages_of(case, reference.table), 1)),
        basis=(Fact(name="rows read for each row deleted", value=reference.table.live, unit=Unit.ROWS),),
    )


PATHOLOGY = Pathology(
    name="foreign-key-without-index",
    title="each deletion scans a table that references the row",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="When a row is deleted, or its key changes, a trigger looks for rows that reference it. Without an index "
    "on the referencing columns it reads that whole table, once for each row, while it holds the row's lock.",
    threshold="Where no row of the referenced table is deleted the index would serve nobody, and below 1,000 rows the "
    "scan is no slower than the trigger.",
    references=("https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-FK",),
    detect=_detect,
    explains=("statement-dominates", "reads-many-buffers-per-row", "row-lock-queue"),
    needs=("foreign_keys", "tables", "indexes", "counters.tables"),
    proof=ProofOn.TWIN,
)
