"""Statements that visit every partition."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.partitions.partition_trees import PartitionTree, calls, partition_trees, scans
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.workload import SAVED
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)

#: With fewer partitions a statement that visits them all takes a few times as long as one that visits one.
PARTITIONS_MIN = 8
#: A report now and then, a dump, or somebody who looks.
CALLS_MIN = 20
#: Visits for each call: half of the partitions, as some may be excluded by their constraints.
VISITED_SHARE = 0.5
#: Of the time of all statements.
COSTLY_SHARE = 0.1
_STATEMENTS_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    for tree in partition_trees(case):
        if len(tree.leaves) >= PARTITIONS_MIN and tree.key:
            yield from _of(case, tree)


def _of(case: Case, tree: PartitionTree) -> Iterator[Seen]:
    without = calls(case, tree, with_key=False)
    count = sum(times for _, times in without.values())
    if count < CALLS_MIN:
        return
    # Those that name the key are taken to visit one partition each.
    pruned = sum(times for _, times in calls(case, tree, with_key=True).values())
    visits = (scans(case, tree) - pruned) / count
    if visits < VISITED_SHARE * len(tree.leaves):
        return
    ill = sorted(without.values(), key=lambda one: case.statement_ms.get(one[0].query_id, 0.0), reverse=True)
    # With the key each would visit one partition.
    saved = 1.0 - 1.0 / visits
    share = saved * sum(case.statement_share(one.query_id) for one, _ in ill)
    yield Seen(
        subject=f"table {tree.root.name}",
        severity=Severity.WARNING if share >= COSTLY_SHARE else Severity.NOTICE,
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence(
                kind=SubjectKind.TABLE,
                name=tree.root.name,
                facts=(
                    Fact(name="partitions", value=len(tree.leaves), unit=Unit.COUNT),
                    Fact(name="partition key", value=", ".join(tree.root.state.partition_columns)),
                    Fact(name="partitions visited for each call", value=visits, unit=Unit.RATIO),
                ),
            ),
            *(
                Evidence(
                    kind=SubjectKind.STATEMENT,
                    name=one.text,
                    query_id=one.query_id,
                    facts=(Fact(name="calls", value=times, unit=Unit.COUNT),),
                )
                for one, times in ill[:_STATEMENTS_NAMED]
            ),
        ),
        tables=(tree.root.name,),
        cost=Cost(
            kind=CostKind.TIME_SHARE,
            value=share,
            basis=(
                Fact(name="statements without the partition key", value=len(ill), unit=Unit.COUNT),
                Fact(name=SAVED, value=saved, unit=Unit.SHARE),
            ),
        ),
        claim=TimeClaim(query_ids=tuple(one.query_id for one, _ in ill), fraction=saved),
        treatments=(
            Treatment(
                title="name the partition key in the WHERE clause, as a constant, a parameter or a join",
                applies=Applies.APPLICATION,
                risk="none",
            ),
            Treatment(
                title="partition by a column that the statements name, or into fewer partitions",
                applies=Applies.APPLICATION,
                risk="all rows are copied into new tables",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="partitions-unpruned",
    title="statements visit every partition",
    area=Area.PARTITIONS,
    role=Role.CAUSE,
    mechanism="A statement without a condition on the partition key plans, locks and scans every partition with its "
    "indexes. Beyond the fast-path slots each lock goes through the shared lock table.",
    threshold="Eight partitions, of which 20 calls and more visit at least half each, without a column of the key in "
    "their text; a warning from a tenth of the time of all statements on.",
    references=(
        "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITION-PRUNING",
        "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES",
    ),
    detect=_detect,
    explains=("fast-path-locks-exhausted", "relation-cache-memory", "planning-dominates", "lock-table-nearly-full"),
    needs=("tables", "counters.tables", "counters.statements", "statement_texts"),
    no_proof="the statement's text has to change, which a lab cannot do",
)
