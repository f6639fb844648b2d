"""An application counts all rows of a large table, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import TableAccess, accesses, reads_whole, table_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Fact, Role, Treatment, Unit

#: A report counts once a day; a page that shows a total does it with each view.
CALLS_MIN = 50


def _detect(case: Case) -> Iterator[Seen]:
    for access in accesses(case):
        work, table = access.work, access.table
        if work.calls < CALLS_MIN or not _counts_all(access) or not reads_whole(case, access):
            continue
        yield Seen(
            subject=f"{work.subject} on {table.name}",
            severity=severity_of(case, (work,)),
            evidence=(
                statement_evidence(
                    case, work, Fact(name="buffers each call", value=work.buffers_per_call, unit=Unit.BUFFERS)
                ),
                table_evidence(table),
            ),
            tables=(table.name,),
            cost=time_cost(case, (work,)),
            claim=time_claim((work,)),
            treatments=(
                Treatment(
                    title="show an estimate: reltuples of pg_class, which VACUUM and ANALYZE keep up to date",
                    applies=Applies.APPLICATION,
                    risk="a few per cent off on a table that changes much",
                ),
                Treatment(
                    title="or keep the total: count once a minute, and ask for one more row than a page shows",
                    applies=Applies.APPLICATION,
                    risk="the total is as old as its last count",
                ),
            ),
        )


def _counts_all(access: TableAccess) -> bool:
    shape = access.work.shape
    if shape is None or shape.verb != "select" or len(shape.levels) != 1 or access.level.sources != 1:
        return False
    return access.level.only_counts and not access.level.has_conditions and access.work.rows <= access.work.calls


PATHOLOGY = Pathology(
    name="counts-whole-table",
    title="all rows of a table are counted again and again",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="PostgreSQL keeps no number of rows, as each transaction sees its own. To count them it visits every "
    "page, or every page of an index where the visibility map allows it, each time.",
    threshold="50 calls are an application's and not somebody's question. Below 50 pages a count takes less than a "
    "round trip.",
    references=("https://www.postgresql.org/docs/current/functions-aggregate.html",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("counters.statements", "statement_texts", "tables", "counters.tables"),
    no_proof="the application has to ask in another way; a twin would run what it sends now",
)
