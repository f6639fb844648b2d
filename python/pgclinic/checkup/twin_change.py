"""What a twin can judge of a treatment: settings, and statements that change the schema. Pure."""

from __future__ import annotations

import re

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Applies, Finding, Treatment
from pgclinic.whatif.twin_change import TwinChange

#: What a twin has anew however ill its original is: statistics, and pages without dead rows.
_ALREADY = re.compile(r"\s*(analyze|vacuum(?!\s*(\(\s*full|full)))\b", re.IGNORECASE)
#: Settings that the workload of a twin does not depend on, as it sends literals and has no temporary tables; or that
#: work by an ANALYZE, which a twin has behind it.
_NO_EFFECT = frozenset(("plan_cache_mode", "default_statistics_target", "temp_buffers"))
#: Statements that do to a twin what they do to its original. A twin has no sessions, roles or slots of the original.
_OF_SCHEMA = re.compile(
    r"\s*(create\s+(unique\s+)?index|drop\s+index|alter\s+(table|index)|create\s+statistics|reindex|cluster|vacuum"
    r"|analyze)\b",
    re.IGNORECASE,
)


def twin_changes(case: Case, finding: Finding) -> tuple[TwinChange, ...]:
    """The treatments that a twin can judge, what cures before what prevents. Indexes that go, go together."""
    found = [_change(case, number, treatment) for number, treatment in enumerate(finding.treatments)]
    changes = sorted((one for one in found if one is not None), key=lambda one: (one.prevents, one.treatment))
    drops = [one for one in changes if one.only_drops_indexes]
    if len(drops) < 2:
        return tuple(changes)
    together = TwinChange(
        treatment=drops[0].treatment,
        title=f"{drops[0].title}, and {len(drops) - 1} more",
        statements=tuple(statement for one in drops for statement in one.statements),
    )
    return (together, *(one for one in changes if one not in drops))


def _change(case: Case, number: int, treatment: Treatment) -> TwinChange | None:
    if treatment.applies in (Applies.APPLICATION, Applies.MACHINE):
        return None
    if not treatment.settings and not treatment.sql:
        return None
    if not all(_OF_SCHEMA.match(one) for one in treatment.sql):
        return None
    if not set(treatment.settings) - _NO_EFFECT and all(_ALREADY.match(one) for one in treatment.sql):
        return None
    if any(name not in case.settings for name in treatment.settings):
        return None
    return TwinChange(
        treatment=number,
        title=treatment.title,
        settings=dict(treatment.settings),
        before={name: case.shown(name) for name in treatment.settings},
        statements=tuple(one.rstrip().rstrip(";") for one in treatment.sql),
        prevents=treatment.prevents,
    )
