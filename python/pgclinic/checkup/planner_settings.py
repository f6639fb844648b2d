"""Settings of the planner that are out of the ordinary, of the server or of a role, and what they do to statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.checkup.saved_reads import Saving, saving_by_index, together
from pgclinic.checkup.table_access import scans_despite_index, table_evidence
from pgclinic.checkup.workload import Work, statement_evidence
from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment
from pgclinic.model.snapshot import RoleSetting
from pgclinic.settings.execution import COSTS
from pgclinic.sql.quoting import identifier, literal

#: Machines differ by a factor of four to eight in what a random page costs; beyond this no machine is meant.
EXTREME_RATIO = 20.0
_SCANS_NAMED = 5


def is_extreme(case: Case, name: str, value: float | None) -> bool:
    default = case.default(name)
    if value is None or not default:
        return False
    return not default / EXTREME_RATIO <= value <= default * EXTREME_RATIO


def extreme_costs(case: Case) -> tuple[str, ...]:
    return tuple(name for name in COSTS if is_extreme(case, name, case.number(name)))


def disabled_plan_types(case: Case) -> tuple[str, ...]:
    """Plan types that are on out of the box."""
    return tuple(
        sorted(
            setting.name
            for setting in case.snapshot.settings
            if setting.name.startswith("enable_") and setting.value == "off" and setting.default_value == "on"
        )
    )


def role_settings(case: Case, wanted: Callable[[RoleSetting], bool]) -> tuple[RoleSetting, ...]:
    """The settings of roles and of databases, but for other databases than the one that was looked at."""
    here = case.snapshot.server.database
    return tuple(
        setting for setting in case.snapshot.role_settings if setting.database in (None, here) and wanted(setting)
    )


def role_setting_evidence(one: RoleSetting) -> Evidence:
    kind = SubjectKind.ROLE if one.role is not None else SubjectKind.DATABASE
    return Evidence(
        kind=kind, name=one.role or one.database or "all roles", facts=(Fact(name=one.name, value=one.value),)
    )


def reset_role_setting(one: RoleSetting) -> Treatment:
    """The server's own value again, for sessions that connect from now on."""
    if one.role is None:
        whose = f"database {identifier(one.database)}" if one.database is not None else "role all"
    else:
        whose = f"role {identifier(one.role)}"
        whose += f" in database {identifier(one.database)}" if one.database is not None else ""
    return Treatment(
        title=f"reset {one.name} of {whose}",
        applies=Applies.STATEMENT,
        sql=(f"alter {whose} reset {one.name}",),
        lock="none on tables",
        risk="sessions that are connected keep the value until they reconnect",
        undo=(f"alter {whose} set {one.name} to {literal(one.value)}",),
    )


@dataclass(frozen=True)
class Scans:
    """Statements that read whole tables despite an index, as evidence, the tables, and what the index would save."""

    works: tuple[Work, ...]
    evidence: tuple[Evidence, ...]
    tables: tuple[str, ...]
    saved: Mapping[int, float]


def scans(case: Case) -> Scans:
    found = list(scans_despite_index(case))
    works = tuple({access.work.query_id: access.work for access, _ in found}.values())
    savings: dict[int, list[Saving]] = {}
    for access, index in found:
        savings.setdefault(access.work.query_id, []).append(saving_by_index(case, access, index.state.columns[0]))
    evidence: list[Evidence] = []
    for work in works[:_SCANS_NAMED]:
        access, index = next((access, index) for access, index in found if access.work.query_id == work.query_id)
        evidence.append(
            statement_evidence(
                case, work, Fact(name="reads whole", value=access.table.name), Fact(name="index", value=index.qualified)
            )
        )
    tables = {access.table.name: access.table for access, _ in found}
    evidence += [table_evidence(table) for table in list(tables.values())[:_SCANS_NAMED]]
    saved = {key: together(those).part for key, those in savings.items()}
    return Scans(works, tuple(evidence), tuple(tables), saved)


def planner_is_free(case: Case) -> bool:
    """Nothing in the settings keeps the planner from using an index."""
    return not extreme_costs(case) and not disabled_plan_types(case)


def statements_of(case: Case, works: tuple[Work, ...]) -> Iterator[Evidence]:
    for work in works[:_SCANS_NAMED]:
        yield statement_evidence(case, work)
