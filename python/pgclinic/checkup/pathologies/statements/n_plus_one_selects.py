"""For each row of one statement the application asks another one."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.foreign_keys import Reference, references
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import TableAccess, accesses
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit

#: A list that short is a form of one order with its lines.
ROWS_MIN = 5.0
CALLS_MIN = 200
#: One call for each row, but for some that other parts of the application add or leave out.
TOLERANCE = 0.1


def _detect(case: Case) -> Iterator[Seen]:
    keys = tuple(references(case))
    selects = [access for access in accesses(case) if _is_select(access)]
    lists = [select for select in selects if select.work.rows_per_call >= ROWS_MIN]
    for single in selects:
        work = single.work
        if work.calls < CALLS_MIN or single.level.sources != 1 or work in [one.work for one in lists]:
            continue
        columns = single.equal_columns()
        cause = next((one for one in lists if _belongs(one, single, columns, keys)), None)
        if len(columns) != 1 or cause is None:
            continue
        yield Seen(
            subject=f"{work.subject} for each row of {cause.work.subject}",
            severity=severity_of(case, (work,)),
            confidence=Confidence.POSSIBLE,
            evidence=(
                statement_evidence(case, work),
                statement_evidence(
                    case, cause.work, Fact(name="rows of all calls", value=cause.work.rows, unit=Unit.ROWS)
                ),
            ),
            tables=(single.table.name,),
            cost=time_cost(case, (work,)),
            claim=time_claim((work,), at_most=True),
            treatments=(
                Treatment(
                    title=f"ask once: a join, or {columns[0]} = ANY (all values of the list)",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


def _is_select(access: TableAccess) -> bool:
    shape = access.work.shape
    return shape is not None and shape.verb == "select" and len(shape.levels) == 1


def _belongs(listed: TableAccess, single: TableAccess, columns: tuple[str, ...], keys: tuple[Reference, ...]) -> bool:
    """As many calls as the list had rows, by a column that leads from one of the tables to the other."""
    if listed.work.query_id == single.work.query_id or not _is_near(listed.work.rows, single.work.calls):
        return False
    one, other = single.table.state.oid, listed.table.state.oid
    return any(
        (key.table.state.oid, key.parent.state.oid, key.state.columns) == (one, other, columns)
        or (key.parent.state.oid, key.table.state.oid, key.state.parent_columns) == (one, other, columns)
        for key in keys
    )


def _is_near(rows: int, calls: int) -> bool:
    return abs(rows - calls) <= TOLERANCE * calls


PATHOLOGY = Pathology(
    name="n-plus-one-selects",
    title="an application asks once more for each row of a list",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="A statement returns a list, and another one is called for each of its rows. Every call has its round "
    "trip, parsing and planning, which take longer than finding the row.",
    threshold="As many calls as the other statement returned rows, within 10 %, at least 200, by a column of a foreign "
    "key between the two tables: that is no chance.",
    references=("https://www.postgresql.org/docs/current/queries-table-expressions.html#QUERIES-JOIN",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("counters.statements", "statement_texts", "foreign_keys"),
    no_proof="the application has to ask in another way; a twin would run what it sends now",
)
