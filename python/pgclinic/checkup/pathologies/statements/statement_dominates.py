"""One statement takes most of the time of all."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.workload import sessions_busy_with, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit

#: Whatever else is done, at most the other half of the time can be saved elsewhere.
SHARE_MIN = 0.5
#: One session in ten is busy with it: below that the server has nothing to do.
SESSIONS_MIN = 0.1
#: With fewer statements one of them has to take most of the time.
STATEMENTS_MIN = 5


def _detect(case: Case) -> Iterator[Seen]:
    works = workload(case)
    if len(works) < STATEMENTS_MIN:
        return
    for work in works:
        share, busy = case.statement_share(work.query_id), sessions_busy_with(case, (work.query_id,))
        if share < SHARE_MIN or busy < SESSIONS_MIN:
            continue
        mentioned = [table_of(case, mention) for mention in (work.shape.mentions if work.shape is not None else ())]
        yield Seen(
            subject=work.subject,
            severity=Severity.NOTICE,
            tables=tuple(dict.fromkeys(table.name for table in mentioned if table is not None)),
            evidence=(
                statement_evidence(
                    case,
                    work,
                    Fact(name="sessions busy with it", value=busy, unit=Unit.RATIO),
                    Fact(name="longest time", value=work.max_ms, unit=Unit.MILLISECONDS),
                ),
            ),
            cost=time_cost(case, (work,)),
            claim=time_claim((work,), at_most=True),
            treatments=(
                Treatment(
                    title="start with this statement: its plan, how often it is called, and whether it is needed",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="statement-dominates",
    title="one statement takes most of the time",
    area=Area.STATEMENTS,
    role=Role.SYMPTOM,
    mechanism="More than half of the time of all statements is spent in this one. What makes it slow, or has it called "
    "so often, decides how fast the server is; all else can save the other half at most.",
    threshold="Half of the time, and one session in ten busy with it on average. It is only a notice: a server with "
    "one task is healthy.",
    references=("https://www.postgresql.org/docs/current/pgstatstatements.html",),
    detect=_detect,
    needs=("counters.statements", "statement_texts"),
    no_proof="it says where to look; what cures it is another finding's treatment",
)
