"""A type of plan is switched off for all statements."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.planner.table_rescans import rescans, saved_of
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import (
    Scans,
    disabled_plan_types,
    reset_role_setting,
    role_setting_evidence,
    role_settings,
    scans,
)
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Role, Severity

_INDEX_PLANS = frozenset({"enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"})
_JOIN_PLANS = frozenset({"enable_hashjoin", "enable_mergejoin", "enable_material", "enable_memoize"})
_OFF = frozenset({"off", "false", "no", "0"})


def _detect(case: Case) -> Iterator[Seen]:
    names = disabled_plan_types(case)
    if names:
        hurt = _hurt(case, names)
        yield Seen(
            subject=", ".join(names),
            severity=severity_of(case, hurt.works, hurt.saved) if hurt.works else Severity.NOTICE,
            confidence=Confidence.LIKELY if hurt.works else Confidence.CERTAIN,
            evidence=(*(setting_evidence(case, name) for name in names), *hurt.evidence),
            tables=hurt.tables,
            cost=time_cost(case, hurt.works, hurt.saved) if hurt.works else None,
            claim=time_claim(hurt.works, hurt.saved) if hurt.works else None,
            treatments=(
                change_settings(
                    case,
                    dict.fromkeys(names, "on"),
                    title="allow these plans",
                    risk="the statement for which they were switched off may become slow again: give it a SET LOCAL of "
                    "its own, or better statistics",
                ),
            ),
        )
    for setting in role_settings(case, lambda it: _is_disabled(case, it.name, it.value)):
        yield Seen(
            subject=f"{setting.name} of {setting.role or setting.database or 'all roles'}",
            severity=Severity.NOTICE,
            evidence=(role_setting_evidence(setting),),
            treatments=(reset_role_setting(setting),),
        )


def _is_disabled(case: Case, name: str, value: str) -> bool:
    known = case.settings.get(name)
    return name.startswith("enable_") and value.lower() in _OFF and (known is None or known.default_value == "on")


def _hurt(case: Case, names: tuple[str, ...]) -> Scans:
    """Statements that plans of these types would serve."""
    found = scans(case) if _INDEX_PLANS & set(names) else Scans((), (), (), {})
    loops = tuple(rescans(case)) if _JOIN_PLANS & set(names) else ()
    return Scans(
        works=(*found.works, *(loop.work for loop in loops)),
        evidence=(*found.evidence, *(statement_evidence(case, loop.work) for loop in loops)),
        tables=tuple(dict.fromkeys((*found.tables, *(loop.table.name for loop in loops)))),
        saved={**found.saved, **saved_of(loops)},
    )


PATHOLOGY = Pathology(
    name="plan-types-disabled",
    title="a type of plan is switched off for everybody",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="The planner takes a plan of a type that is off only if there is no other, however much better it is. "
    "What one statement needed once is paid for by all others.",
    threshold="Every type that is on out of the box is needed by some statement. It is a warning when statements are "
    "seen that such plans would serve.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#RUNTIME-CONFIG-QUERY-ENABLE",),
    detect=_detect,
    explains=(
        *("table-scanned-in-a-loop", "statement-dominates", "reads-many-buffers-per-row"),
        *("random-page-cost-high", "unused-indexes", "cast-defeats-index", "work-mem-small", "partitions-unpruned"),
    ),
    explains_named=("missing-index",),
    needs=("settings",),
    proof=ProofOn.TWIN,
)
