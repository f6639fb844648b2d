"""Settings of roles and databases: whose they are, and how they are taken back."""

from __future__ import annotations

import re

from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment
from pgclinic.model.snapshot import RoleSetting
from pgclinic.sql.quoting import identifier, literal

_SET = re.compile(r"alter role (\"(?:[^\"]|\"\")+\"|[^\s\"]+) set ([\w.]+) to '([^']*)'", re.IGNORECASE)


def role_setting_of(treatment: Treatment) -> RoleSetting | None:
    """The setting that a treatment gives to new sessions of one role, if that is all it does."""
    found = _SET.fullmatch(treatment.sql[0]) if len(treatment.sql) == 1 and not treatment.settings else None
    if found is None:
        return None
    role = found[1][1:-1].replace('""', '"') if found[1].startswith('"') else found[1]
    return RoleSetting(database=None, role=role, name=found[2], value=found[3])


def role_setting_owner(one: RoleSetting) -> str:
    """role app in database shop"""
    words = []
    if one.role is not None:
        words.append(f"role {one.role}")
    if one.database is not None:
        words.append(f"database {one.database}")
    return " in ".join(words) or "all roles"


def role_setting_evidence(one: RoleSetting, *facts: Fact) -> Evidence:
    return Evidence(
        kind=SubjectKind.DATABASE if one.role is None and one.database is not None else SubjectKind.ROLE,
        name=role_setting_owner(one),
        facts=(Fact(name=one.name, value=one.value), *facts),
    )


def reset_role_setting(one: RoleSetting, *, title: str, risk: str) -> Treatment:
    """New sessions get the server's value."""
    if one.role is None and one.database is not None:
        target = f"alter database {identifier(one.database)}"
    else:
        where = "" if one.database is None else f" in database {identifier(one.database)}"
        target = f"alter role {'all' if one.role is None else identifier(one.role)}{where}"
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"{target} reset {one.name}",),
        lock="none on tables; sessions that are connected keep their value",
        risk=risk,
        undo=(f"{target} set {one.name} to {literal(one.value)}",),
    )
