"""Pages of a list are found by skipping all pages before."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.model.rewrite import Rewrite, RewriteKind
from pgclinic.sql.keyset_paging import keyset_page

#: A page of 20 rows by an index takes about 25 buffers.
BUFFERS_MIN = 100
#: Rows that are skipped are read as well: so many buffers for each row that is shown say that most are skipped.
BUFFERS_PER_ROW_MIN = 5.0
CALLS_MIN = 10
#: Pages of an index from its root to the row behind which a page begins.
_DESCENT = 3.0


def _detect(case: Case) -> Iterator[Seen]:
    for work in workload(case):
        shape = work.shape
        if shape is None or shape.verb != "select" or not shape.top.has_offset or work.calls < CALLS_MIN:
            continue
        if work.buffers_per_call < max(BUFFERS_MIN, BUFFERS_PER_ROW_MIN * work.rows_per_call):
            continue
        found = [table_of(case, mention) for mention in shape.mentions]
        saved = 1.0 - min((_DESCENT + work.rows_per_call) / work.buffers_per_call, 1.0)
        yield Seen(
            subject=work.subject,
            severity=severity_of(case, (work,), saved),
            confidence=Confidence.LIKELY,
            evidence=(
                statement_evidence(
                    case,
                    work,
                    Fact(name="buffers each call", value=work.buffers_per_call, unit=Unit.BUFFERS),
                    Fact(name="rows each call", value=work.rows_per_call, unit=Unit.ROWS),
                ),
            ),
            tables=tuple(dict.fromkeys(table.name for table in found if table is not None)),
            cost=time_cost(case, (work,), saved),
            claim=time_claim((work,), saved),
            treatments=(_treatment(case, work, tuple(dict.fromkeys(table for table in found if table is not None))),),
        )


def _treatment(case: Case, work: Work, tables: tuple[Table, ...]) -> Treatment:
    """In words: the statement for the next page is written when a twin has shown that it gives the same rows."""
    return Treatment(
        title="fetch the rows behind the last one shown, by a condition on the columns of ORDER BY (keyset paging)",
        applies=Applies.APPLICATION,
        risk="no jump to page 1,000; the order must be unique and its columns not null, or rows are shown twice or "
        "never",
        rewrite=_rewrite(case, work, tables),
    )


def _rewrite(case: Case, work: Work, tables: tuple[Table, ...]) -> Rewrite | None:
    """None where no statement can be written that gives the same rows."""
    primary = [index.state.columns for table in tables for index in table.indexes if index.state.is_primary]
    is_alone = len(tables) == 1 and len(primary) == 1 and all(primary[0])
    unique = primary[0] if is_alone else ()
    page = keyset_page(work.text, unique)
    if page is None or any(_has_nulls(case, table, key.column) for table in tables for key in page.keys):
        return None
    return Rewrite(query_id=work.query_id, kind=RewriteKind.KEYSET_PAGE, unique=unique)


def _has_nulls(case: Case, table: Table, column: str) -> bool:
    """A null value is neither behind nor before another."""
    found = case.columns.get((table.state.schema, table.state.name, column))
    return found is not None and found.null_share > 0


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
    no_proof="a twin runs what the application sends now, so its gain under load is not measured; of the new statement "
    "the rows are compared, and the buffers",
)
