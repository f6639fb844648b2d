"""A cost that the planner reckons with is far from what any machine has."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import (
    extreme_costs,
    is_extreme,
    reset_role_setting,
    role_setting_evidence,
    role_settings,
    scans,
)
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Role, Severity
from pgclinic.settings.execution import COSTS
from pgclinic.settings.units import amount_of

#: What a random page costs beside a sequential one where both are in memory, or on a solid state drive.
_RANDOM_PAGE_COST = "1.1"


def _detect(case: Case) -> Iterator[Seen]:
    names = extreme_costs(case)
    if names:
        found = scans(case)
        sound = {name: _sound(case, name) for name in names}
        yield Seen(
            subject=", ".join(names),
            severity=severity_of(case, found.works, found.saved) if found.works else Severity.NOTICE,
            confidence=Confidence.LIKELY if found.works else Confidence.CERTAIN,
            evidence=(*(setting_evidence(case, name) for name in names), *found.evidence),
            tables=found.tables,
            cost=time_cost(case, found.works, found.saved) if found.works else None,
            claim=time_claim(found.works, found.saved) if found.works else None,
            treatments=(
                change_settings(
                    case,
                    sound,
                    title="set the costs to what machines have",
                    risk="plans change: statements that became fast by the old value may become slower",
                ),
            ),
        )
    for setting in role_settings(
        case, lambda it: it.name in COSTS and is_extreme(case, it.name, amount_of(it.value, None))
    ):
        yield Seen(
            subject=f"{setting.name} of {setting.role or setting.database or 'all roles'}",
            severity=Severity.NOTICE,
            evidence=(role_setting_evidence(setting),),
            treatments=(reset_role_setting(setting),),
        )


def _sound(case: Case, name: str) -> str:
    return _RANDOM_PAGE_COST if name == "random_page_cost" else case.shown_default(name) or ""


PATHOLOGY = Pathology(
    name="cost-settings-extreme",
    title="a cost of the planner is absurd",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="The planner compares plans by these figures alone. With one that is absurd it takes a sequential scan "
    "for a lookup of one row, or an index scan for a whole table.",
    threshold="Machines differ by less than ten in these ratios; a factor of 20 from the default is beyond all of "
    "them. It is a warning when statements read whole tables despite an index.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#RUNTIME-CONFIG-QUERY-CONSTANTS",),
    detect=_detect,
    explains=(
        *("table-scanned-in-a-loop", "statement-dominates", "reads-many-buffers-per-row"),
        *("random-page-cost-high", "unused-indexes", "cast-defeats-index", "jit-overeager", "shared-buffers-small"),
    ),
    explains_named=("missing-index",),
    needs=("settings",),
    proof=ProofOn.TWIN,
)
