"""A table that is divided into far more partitions than its size needs."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.partitions.partition_trees import PartitionTree, partition_trees
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)

#: "A few thousand partitions" is what the manual says the planner handles fairly well.
PARTITIONS_MANY = 2_000
#: A hundred partitions of less than 1 MB each fit into one table of 100 MB, that an index reads in four pages.
PARTITIONS_SMALL, SMALL_BYTES = 100, 1 << 20
#: Planning that takes a fifth of the time of statements on the table, which are a twentieth of all.
PLANNING_SHARE, STATEMENTS_SHARE = 0.2, 0.05


def _detect(case: Case) -> Iterator[Seen]:
    for tree in partition_trees(case):
        count = len(tree.leaves)
        mean = sum(leaf.total_bytes for leaf in tree.leaves) / count if count else 0.0
        if count < PARTITIONS_SMALL or (count < PARTITIONS_MANY and mean >= SMALL_BYTES):
            continue
        planning, statements = _planning(case, tree)
        is_costly = planning >= PLANNING_SHARE and _share(case, statements) >= STATEMENTS_SHARE
        yield Seen(
            subject=f"table {tree.root.name}",
            severity=Severity.WARNING if is_costly else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.TABLE,
                    name=tree.root.name,
                    facts=(
                        Fact(name="partitions", value=count, unit=Unit.COUNT),
                        Fact(name="mean size of a partition", value=mean, unit=Unit.BYTES),
                        Fact(
                            name="partitions without rows",
                            value=sum(1 for leaf in tree.leaves if not leaf.live),
                            unit=Unit.COUNT,
                        ),
                        Fact(name="planning in the time of its statements", value=planning, unit=Unit.SHARE),
                    ),
                ),
            ),
            tables=(tree.root.name,),
            claim=TimeClaim(query_ids=tuple(statements), fraction=planning) if is_costly else None,
            treatments=(
                Treatment(
                    title="merge partitions: by month in place of by day, by a smaller modulus; drop those without "
                    "rows",
                    applies=Applies.APPLICATION,
                    risk="rows of merged partitions are copied; retention drops larger pieces",
                ),
            ),
        )


def _planning(case: Case, tree: PartitionTree) -> tuple[float, list[int]]:
    """Share of planning in the time of statements on the table; 0 without pg_stat_statements.track_planning."""
    on = list(case.statements_on(tree.root))
    planned = sum(statement.counters.plan_ms for statement in on)
    whole = planned + sum(statement.counters.total_ms for statement in on)
    return (planned / whole if whole else 0.0), [statement.query_id for statement in on]


def _share(case: Case, statements: list[int]) -> float:
    return sum(case.statement_share(statement) for statement in set(statements))


PATHOLOGY = Pathology(
    name="partitions-too-many",
    title="a table has too many partitions",
    area=Area.PARTITIONS,
    role=Role.CAUSE,
    mechanism="Each partition is a table with indexes, statistics and files, which every backend caches and which "
    "planning and locking of a statement that cannot be pruned visit. Small partitions give nothing back for that.",
    threshold="100 partitions of less than 1 MB on average, which would be one table of 100 MB, or 2,000 of any size; "
    "a warning where planning takes a fifth of the time of statements that are a twentieth of all.",
    references=(
        "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES",
    ),
    detect=_detect,
    explains=("relation-cache-memory", "planning-dominates", "fast-path-locks-exhausted", "lock-table-nearly-full"),
    needs=("tables", "sizes"),
    no_proof="a twin with other partitions would need other statements for its maintenance",
)
