"""A foreign key that was added NOT VALID and never validated."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.foreign_keys import reference_evidence, references
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Role, Severity, Treatment
from pgclinic.sql.quoting import identifier, qualified


def _detect(case: Case) -> Iterator[Seen]:
    for reference in references(case):
        if reference.state.is_valid:
            continue
        name, constraint = (
            qualified(reference.table.state.schema, reference.table.state.name),
            identifier(reference.state.name),
        )
        yield Seen(
            subject=reference.name,
            severity=Severity.NOTICE,
            evidence=(reference_evidence(case, reference),),
            tables=(reference.table.name,),
            treatments=(
                Treatment(
                    title="validate the constraint",
                    applies=Applies.STATEMENT,
                    sql=(f"alter table {name} validate constraint {constraint}",),
                    lock="ShareUpdateExclusiveLock, and RowShareLock on the referenced table: reads and writes go on",
                    risk="reads the whole table once; fails at the first row without a parent, which has to be "
                    "corrected then",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="foreign-key-not-validated",
    title="a foreign key is not validated",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="Rows from before the constraint were never checked, so some may reference rows that do not exist. An "
    "update of such a row fails, and so does a restore that adds the constraint to the data.",
    threshold="Only a constraint that is valid says something about all rows. Nothing becomes slower by it, so it is "
    "a notice.",
    references=("https://www.postgresql.org/docs/current/sql-altertable.html#SQL-ALTERTABLE-DESC-VALIDATE-CONSTRAINT",),
    detect=_detect,
    needs=("foreign_keys", "tables"),
    no_proof="it is a risk and costs no time, so there is nothing to measure",
)
