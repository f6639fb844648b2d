"""What a twin can judge of a treatment: settings, and statements that change the schema. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgclinic.checkup.case import Case
from pgclinic.checkup.role_settings import role_setting_of
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
    changes = _different(
        sorted((one for one in found if one is not None), key=lambda one: (one.prevents, one.treatment))
    )
    drops = [change for change in changes if change.only_drops_indexes]
    if len(drops) < 2:
        return tuple(changes)
    together = TwinChange(
        treatment=drops[0].treatment,
        title=f"{drops[0].title}, and {len(drops) - 1} more",
        statements=tuple(statement for drop in drops for statement in drop.statements),
    )
    return (together, *(change for change in changes if change not in drops))


def _different(changes: Sequence[TwinChange]) -> list[TwinChange]:
    """One of those that do the same to a twin, as a setting of a role and of the server do."""
    kept: list[TwinChange] = []
    for change in changes:
        if not any((one.settings, one.statements) == (change.settings, change.statements) for one in kept):
            kept.append(change)
    return kept


def _change(case: Case, number: int, treatment: Treatment) -> TwinChange | None:
    if treatment.applies in (Applies.APPLICATION, Applies.MACHINE):
        return None
    if not treatment.settings and not treatment.sql:
        return None
    # A twin has one role, whose sessions are those of all.
    role = role_setting_of(treatment)
    settings = dict(treatment.settings) if role is None else {role.name: role.value}
    statements = treatment.sql if role is None else ()
    if not all(_OF_SCHEMA.match(statement) for statement in statements):
        return None
    if not set(settings) - _NO_EFFECT and all(_ALREADY.match(statement) for statement in statements):
        return None
    if any(name not in case.settings for name in settings):
        return None
    return TwinChange(
        treatment=number,
        title=treatment.title,
        settings=settings,
        before={name: case.shown(name) for name in settings},
        statements=tuple(statement.rstrip().rstrip(";") for statement in statements),
        prevents=treatment.prevents,
    )
