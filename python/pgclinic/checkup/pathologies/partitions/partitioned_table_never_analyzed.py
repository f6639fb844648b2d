"""A partitioned table without statistics of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pgclinic.checkup.case import Case, Statement, words_of
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
    TimeClaim,
    Treatment,
    Unit,
)
from pgclinic.sql.quoting import qualified

#: A wrong plan over fewer rows costs milliseconds.
ROWS_MIN = 10_000
#: Of the time of all statements.
COSTLY_SHARE = 0.1
#: Where the planner needs statistics over all partitions together.
_ESTIMATED = frozenset({"join", "group", "distinct", "exists", "in"})


def _detect(case: Case) -> Iterator[Seen]:
    analyzed = {(column.schema, column.table) for column in case.snapshot.columns if column.inherited}
    readable = {(column.schema, column.table) for column in case.snapshot.columns}
    for tree in partition_trees(case):
        state = tree.root.state
        if (state.schema, state.name) in analyzed or tree.live < ROWS_MIN:
            continue
        if not any((leaf.state.schema, leaf.state.name) in readable for leaf in tree.leaves):
            # Nothing of it was analyzed, or this role may not read statistics: another finding, or none.
            continue
        ill = [statement for statement in case.statements_on(tree.root) if words_of(statement.text) & _ESTIMATED]
        share = sum(case.statement_share(query_id) for query_id in {statement.query_id for statement in ill})
        yield Seen(
            subject=f"table {tree.root.name}",
            severity=Severity.WARNING if share >= COSTLY_SHARE else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.TABLE,
                    name=tree.root.name,
                    facts=(
                        Fact(name="partitions", value=len(tree.leaves), unit=Unit.COUNT),
                        Fact(name="rows", value=tree.live, unit=Unit.ROWS),
                        Fact(name="last analyze", value="never"),
                        Fact(name="time of statements that join or group it", value=share, unit=Unit.SHARE),
                    ),
                ),
                *(
                    Evidence(kind=SubjectKind.STATEMENT, name=statement.text, query_id=statement.query_id)
                    for statement in ill[:3]
                ),
            ),
            tables=(tree.root.name,),
            claim=_claim(ill) if share >= COSTLY_SHARE else None,
            treatments=(
                Treatment(
                    title="analyze the partitioned table",
                    applies=Applies.STATEMENT,
                    sql=(f"analyze {qualified(state.schema, state.name)}",),
                    lock="ShareUpdateExclusiveLock: reads and writes go on",
                    risk="reads a sample of all partitions",
                ),
                Treatment(
                    title="do so after large changes and once a week, in a scheduled job: autovacuum never does",
                    applies=Applies.APPLICATION,
                    risk="none",
                    prevents=True,
                ),
            ),
        )


def _claim(ill: Iterable[Statement]) -> TimeClaim:
    return TimeClaim(query_ids=tuple(dict.fromkeys(statement.query_id for statement in ill)), at_most=True)


PATHOLOGY = Pathology(
    name="partitioned-table-never-analyzed",
    title="a partitioned table was never analyzed",
    area=Area.PARTITIONS,
    role=Role.CAUSE,
    mechanism="Autovacuum analyzes partitions and never the partitioned table itself. Joins, groups and distinct "
    "values over several partitions are estimated from defaults.",
    threshold="10,000 rows in all partitions together, as a wrong plan over fewer costs milliseconds; a warning where "
    "statements that join or group it take a tenth of the time of all statements.",
    references=("https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",),
    detect=_detect,
    explains=("stale-statistics", "never-analyzed"),
    needs=("tables",),
    no_proof="ANALYZE changes plans of real statements over real rows, and can be tried on the server itself",
)
