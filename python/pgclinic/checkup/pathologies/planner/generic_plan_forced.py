"""Every prepared statement has one plan for all values."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.planner.skewed_values import uneven_statements
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.planner_settings import reset_role_setting, role_setting_evidence, role_settings
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, time_claim, time_cost
from pgclinic.model.finding import Area, Role, Severity

_FORCED = "force_generic_plan"


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("plan_cache_mode") == _FORCED:
        uneven = tuple(uneven_statements(case))
        works = tuple(one.work for one in uneven)
        yield Seen(
            subject="plan_cache_mode",
            severity=severity_of(case, works) if works else Severity.NOTICE,
            evidence=(setting_evidence(case, "plan_cache_mode"), *(one.evidence(case) for one in uneven)),
            tables=tuple(dict.fromkeys(one.table.name for one in uneven)),
            cost=time_cost(case, works) if works else None,
            claim=time_claim(works, at_most=True) if works else None,
            treatments=(
                change_settings(
                    case,
                    {"plan_cache_mode": "auto"},
                    title="let the server choose between a plan for all values and one for each",
                    risk="the first five executions of each prepared statement are planned, and some ones always are",
                ),
            ),
        )
    for setting in role_settings(case, lambda it: it.name == "plan_cache_mode" and it.value == _FORCED):
        yield Seen(
            subject=f"plan_cache_mode of {setting.role or setting.database or 'all roles'}",
            severity=Severity.NOTICE,
            evidence=(role_setting_evidence(setting),),
            treatments=(reset_role_setting(setting),),
        )


PATHOLOGY = Pathology(
    name="generic-plan-forced",
    title="prepared statements never see their values",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="A generic plan is made without the values of the parameters, for the average value. For a rare value it "
    "may walk the wrong index, and partitions can be pruned only while it runs.",
    threshold="The setting is off its default for everybody. It is a warning when a statement on an uneven column "
    "takes 20 times its shortest time on average.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-PLAN-CACHE-MODE",),
    detect=_detect,
    explains=("generic-plan-wrong", "partitions-unpruned", "reads-many-buffers-per-row", "statement-dominates"),
    needs=("settings",),
    no_proof="the workload of a twin sends values as literals, so it has no generic plans",
)
