"""A statement reads many times as much for each call as it did until the observation began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.model.snapshot_counters import StatementCounters

#: Values differ from call to call, and so do the rows that they find; by so much on average only plans and bloat do.
RATIO_MIN = 5.0
CALLS_MIN = 20
#: Before and now: below this a statement is quick, however much it grew.
BUFFERS_MIN = 50.0


@dataclass(frozen=True)
class _Before:
    calls: int
    buffers: int
    rows: int


def _detect(case: Case) -> Iterator[Seen]:
    earlier = case.snapshot.counters_before
    if earlier is None:
        return
    before = _by_statement(earlier.statements)
    now = _by_statement(case.snapshot.counters.statements)
    for work in workload(case):
        was, total = before.get(work.query_id), now[work.query_id]
        # Statistics that were reset meanwhile, or too few calls in the observation, leave nothing to compare.
        if was is None or was.calls < CALLS_MIN or work.calls < CALLS_MIN or total.calls - was.calls != work.calls:
            continue
        then = was.buffers / was.calls
        grown_rows = work.rows_per_call / max(was.rows / was.calls, 1.0)
        if work.buffers_per_call < max(BUFFERS_MIN, RATIO_MIN * then * max(grown_rows, 1.0)):
            continue
        saved = 1.0 - min(then * max(grown_rows, 1.0) / work.buffers_per_call, 1.0)
        yield Seen(
            subject=work.subject,
            severity=severity_of(case, (work,)),
            confidence=Confidence.LIKELY,
            evidence=(
                statement_evidence(
                    case,
                    work,
                    Fact(name="buffers each call", value=work.buffers_per_call, unit=Unit.BUFFERS),
                    Fact(name="buffers each call before", value=then, unit=Unit.BUFFERS),
                    Fact(name="rows each call", value=work.rows_per_call, unit=Unit.ROWS),
                ),
            ),
            tables=_tables(case, work),
            cost=time_cost(case, (work,), saved),
            claim=time_claim((work,), saved),
            treatments=(
                Treatment(
                    title="look for what changed: its plan, an index, the statistics, dead rows of its tables",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


def _by_statement(rows: Iterable[StatementCounters]) -> dict[int, _Before]:
    found: dict[int, _Before] = {}
    for row in rows:
        was = found.get(row.query_id, _Before(0, 0, 0))
        found[row.query_id] = _Before(was.calls + row.calls, was.buffers + row.hits + row.reads, was.rows + row.rows)
    return found


def _tables(case: Case, work: Work) -> tuple[str, ...]:
    shape = work.shape
    found = [table_of(case, mention) for mention in shape.mentions] if shape is not None else []
    return tuple(dict.fromkeys(table.name for table in found if table is not None))


PATHOLOGY = Pathology(
    name="statement-slower-than-before",
    title="a statement reads far more for each call than it used to",
    area=Area.STATEMENTS,
    role=Role.SYMPTOM,
    mechanism="The same statement visits many times the buffers for each call that it visited until now. Its plan has "
    "changed, an index is gone, or versions of rows that nobody can see have piled up.",
    threshold="Five times as many buffers for as many rows, over at least 20 calls before and 20 in the observation. "
    "Other values cannot make such a difference on average without other plans.",
    references=("https://www.postgresql.org/docs/current/pgstatstatements.html",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("observation", "counters.statements", "statement_texts"),
    no_proof="what it used to be is not known; what cures it is another finding's treatment",
)
