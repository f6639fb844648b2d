"""ANALYZE keeps less of each column than the planner needs."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.planner.table_rescans import rescans, saved_of
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Role, Severity, Treatment

_NAME = "default_statistics_target"


def _detect(case: Case) -> Iterator[Seen]:
    value, default = case.number(_NAME), case.default(_NAME)
    if value is None or default is None or value >= default:
        return
    loops = tuple(rescans(case))
    works = tuple(loop.work for loop in loops)
    yield Seen(
        subject=_NAME,
        severity=severity_of(case, works) if works else Severity.NOTICE,
        confidence=Confidence.POSSIBLE,
        evidence=(setting_evidence(case, _NAME), *(statement_evidence(case, work) for work in works)),
        tables=tuple(dict.fromkeys(loop.table.name for loop in loops)),
        cost=time_cost(case, works, saved_of(loops)) if works else None,
        claim=time_claim(works, saved_of(loops)) if works else None,
        treatments=(
            change_settings(
                case,
                {_NAME: f"{default:g}"},
                title=f"set it to {default:g}, and analyze afterwards",
                risk="ANALYZE reads 300 rows for each step of the target, 30,000 at 100",
            ),
            Treatment(
                title="analyze all tables with it",
                applies=Applies.STATEMENT,
                sql=("analyze",),
                lock="ShareUpdateExclusiveLock on one table at a time: reads and writes go on",
                risk="reads a sample of each table; plans may change",
                prevents=True,
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="statistics-target-low",
    title="the planner keeps too few values of each column",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="The target is how many common values and how many steps of a histogram ANALYZE keeps, and it reads 300 "
    "rows for each of them. With few, the planner mistakes uneven columns for even ones.",
    threshold="The default of 100 reads 30,000 rows a table, which takes well under a second; a lower one saves "
    "nothing. It is a warning when estimates are seen to fail.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-DEFAULT-STATISTICS-TARGET",),
    detect=_detect,
    explains=("table-scanned-in-a-loop", "reads-many-buffers-per-row"),
    needs=("settings",),
    no_proof="rows of a twin follow the statistics as they are, so it knows no more with a larger target",
)
