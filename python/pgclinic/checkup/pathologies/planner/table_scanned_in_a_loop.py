"""A nested loop reads a table once for each row of another."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.planner.table_rescans import rescans
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.treatments import analyze
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit


def _detect(case: Case) -> Iterator[Seen]:
    for rescan in rescans(case):
        table = rescan.table
        yield Seen(
            subject=f"{rescan.work.subject} over {table.name}",
            severity=severity_of(case, (rescan.work,)),
            confidence=Confidence.LIKELY,
            evidence=(
                statement_evidence(
                    case,
                    rescan.work,
                    Fact(name="buffers each call", value=rescan.work.buffers_per_call, unit=Unit.BUFFERS),
                    Fact(name="times all its tables are read in a call", value=rescan.times, unit=Unit.RATIO),
                ),
                table_evidence(table, Fact(name="scans for each call", value=rescan.scans_per_call, unit=Unit.RATIO)),
            ),
            tables=(table.name,),
            cost=time_cost(case, (rescan.work,), rescan.saved),
            claim=time_claim((rescan.work,), rescan.saved),
            treatments=(
                analyze(table.state),
                Treatment(
                    title="look at the plan: an index on the join's column, or a join that can be hashed",
                    applies=Applies.APPLICATION,
                    risk="none",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="table-scanned-in-a-loop",
    title="a nested loop reads a table once for each row of another",
    area=Area.PLANNER,
    role=Role.SYMPTOM,
    mechanism="The planner expects one row, or hardly any, and joins by a nested loop without an index: the inner "
    "table is read once for each outer row. The time is the product of both tables instead of their sum.",
    threshold="A hash or merge join visits each page once, twice with a spill. Ten times all pages of all joined "
    "tables and ten scans of one for each call leave only a loop.",
    references=(
        "https://www.postgresql.org/docs/current/using-explain.html",
        "https://www.postgresql.org/docs/current/planner-stats.html",
    ),
    detect=_detect,
    explains=("statement-dominates", "reads-many-buffers-per-row"),
    needs=("counters.statements", "statement_texts", "tables", "counters.tables"),
    proof=ProofOn.TWIN,
)
