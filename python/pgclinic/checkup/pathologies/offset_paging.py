"""Pages of a list are found by skipping all pages before."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit

#: A page of 20 rows by an index takes about 25 buffers.
BUFFERS_MIN = 100
#: Rows that are skipped are read as well: so many buffers for each row that is shown say that most are skipped.
BUFFERS_PER_ROW_MIN = 5.0
CALLS_MIN = 10


def _detect(case: Case) -> Iterator[Seen]:
    for one in workload(case):
        shape = one.shape
        if shape is None or shape.verb != "select" or not shape.top.has_offset or one.calls < CALLS_MIN:
            continue
        if one.buffers_per_call < max(BUFFERS_MIN, BUFFERS_PER_ROW_MIN * one.rows_per_call):
            continue
        found = [table_of(case, mention) for mention in shape.mentions]
        ordered = ", ".join(shape.top.ordered_by) or "the columns of ORDER BY"
        yield Seen(
            subject=one.subject,
            severity=severity_of(case, (one,)),
            confidence=Confidence.LIKELY,
            evidence=(
                statement_evidence(
                    case,
                    one,
                    Fact(name="buffers each call", value=one.buffers_per_call, unit=Unit.BUFFERS),
                    Fact(name="rows each call", value=one.rows_per_call, unit=Unit.ROWS),
                ),
            ),
            tables=tuple(dict.fromkeys(table.name for table in found if table is not None)),
            cost=time_cost(case, (one,)),
            claim=time_claim((one,)),
            treatments=(
                Treatment(
                    title=f"ask for rows behind the last one shown: WHERE ({ordered}) > (values of that row) "
                    f"ORDER BY {ordered} LIMIT n",
                    applies=Applies.APPLICATION,
                    risk="no jump to page 1,000; the order must be unique, or rows are shown twice or never",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="offset-paging",
    title="pages of a list are found by skipping all rows before",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="OFFSET computes every row that it skips and throws it away. Page 1,000 takes a thousand times as long "
    "as the first, and a reader that walks through all pages reads the list quadratically.",
    threshold="Fewer than 100 buffers a call, or five for each row shown, are what the first pages take.",
    references=("https://www.postgresql.org/docs/current/queries-limit.html",),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates"),
    needs=("counters.statements", "statement_texts"),
    no_proof="the application has to ask in another way; a twin would run what it sends now",
)
