"""Rows that found no other partition."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.partitions.partition_trees import partition_trees
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

#: Then the table is hardly partitioned at all.
HALF, ROWS_COSTLY = 0.5, 10_000


def _detect(case: Case) -> Iterator[Seen]:
    for tree in partition_trees(case):
        default = case.all_tables.get(tree.root.state.default_partition_oid or 0)
        if default is None or not default.live:
            continue
        rows, share = default.live, default.live / max(tree.live, 1.0)
        yield Seen(
            subject=f"table {default.name}",
            severity=Severity.WARNING if share >= HALF and rows >= ROWS_COSTLY else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.TABLE,
                    name=default.name,
                    facts=(
                        Fact(name="default partition of", value=tree.root.name),
                        Fact(name="rows", value=rows, unit=Unit.ROWS),
                        Fact(name="share of all rows", value=share, unit=Unit.SHARE),
                    ),
                ),
            ),
            tables=(tree.root.name, default.name),
            treatments=(
                Treatment(
                    title="detach the default partition, create the partitions that are missing, and insert its rows "
                    "again",
                    applies=Applies.APPLICATION,
                    risk="rows of the default partition are missing meanwhile; do it in one transaction for a small "
                    "one",
                ),
                Treatment(
                    title="create partitions in time, by pg_partman or a scheduled job",
                    applies=Applies.APPLICATION,
                    risk="none",
                    prevents=True,
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="default-partition-in-use",
    title="rows are in the default partition",
    area=Area.PARTITIONS,
    role=Role.CAUSE,
    mechanism="The partition that these rows belong to does not exist. A statement that could be pruned to one "
    "partition visits the default one as well, and CREATE TABLE ... PARTITION OF scans all of it under an exclusive "
    "lock.",
    threshold="Any row; a warning when it has half of the rows, 10,000 or more: the table is hardly partitioned then.",
    references=("https://www.postgresql.org/docs/current/sql-createtable.html#SQL-CREATETABLE-PARTITION",),
    detect=_detect,
    needs=("tables", "counters.tables"),
    no_proof="which partitions are missing is for the application to say",
)
