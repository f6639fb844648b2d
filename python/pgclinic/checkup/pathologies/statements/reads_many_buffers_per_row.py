"""A statement visits a thousand buffers and more for each row that it returns."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit

#: An index lookup takes four buffers, a join of six tables by indexes 24: this is beyond all of them.
BUFFERS_PER_ROW_MIN = 1_000
CALLS_MIN = 20


def _detect(case: Case) -> Iterator[Seen]:
    for one in workload(case):
        shape = one.shape
        if shape is None or not shape.returns_what_it_reads or not shape.mentions or one.calls < CALLS_MIN:
            continue
        # A call that finds nothing counts as one with a row: it had to look as well.
        per_row = one.buffers / max(one.rows, one.calls)
        if per_row < BUFFERS_PER_ROW_MIN:
            continue
        yield Seen(
            subject=one.subject,
            severity=severity_of(case, (one,)),
            confidence=Confidence.LIKELY,
            evidence=(
                statement_evidence(
                    case,
                    one,
                    Fact(name="buffers each row", value=per_row, unit=Unit.BUFFERS),
                    Fact(name="rows each call", value=one.rows_per_call, unit=Unit.ROWS),
                ),
            ),
            tables=_tables(case, one),
            cost=time_cost(case, (one,)),
            claim=time_claim((one,), at_most=True),
            treatments=(
                Treatment(
                    title="look at EXPLAIN (ANALYZE, BUFFERS): which node reads what it throws away",
                    applies=Applies.APPLICATION,
                    risk="ANALYZE executes the statement",
                ),
            ),
        )


def _tables(case: Case, work: Work) -> tuple[str, ...]:
    shape = work.shape
    found = [table_of(case, mention) for mention in shape.mentions] if shape is not None else []
    return tuple(dict.fromkeys(table.name for table in found if table is not None))


PATHOLOGY = Pathology(
    name="reads-many-buffers-per-row",
    title="a statement reads a thousand buffers for each row it returns",
    area=Area.STATEMENTS,
    role=Role.SYMPTOM,
    mechanism="Nearly all that the statement reads is thrown away: rows that do not match, dead versions of rows, or "
    "rows of a join that another condition removes. The time follows the buffers, and not the result.",
    threshold="Lookups by index take about four buffers a table. Statements that count, group or limit rows are left "
    "out, as they have to read more than they return.",
    references=("https://www.postgresql.org/docs/current/using-explain.html#USING-EXPLAIN-ANALYZE",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("counters.statements", "statement_texts"),
    proof=ProofOn.TWIN,
)
