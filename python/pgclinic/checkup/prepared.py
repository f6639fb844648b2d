"""Prepared transactions as findings show and end them."""

from __future__ import annotations

from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import PreparedTransaction
from pgclinic.sql.quoting import literal


def prepared_evidence(one: PreparedTransaction, *facts: Fact) -> Evidence:
    """Its name with who prepared it, where and when."""
    words = [("role", one.user), ("database", one.database)]
    return Evidence(
        kind=SubjectKind.PREPARED,
        name=one.name,
        facts=(
            *(Fact(name=name, value=value) for name, value in words if value),
            Fact(name="prepared for", value=one.prepared_s, unit=Unit.SECONDS),
            *facts,
        ),
    )


def roll_back_prepared(one: PreparedTransaction) -> Treatment:
    where = f"in database {one.database}, " if one.database else ""
    return Treatment(
        title="roll it back",
        applies=Applies.STATEMENT,
        sql=(f"rollback prepared {literal(one.name)}",),
        lock="none",
        risk=f"what it has written is lost. Run this {where}as its owner or a superuser, and ask its transaction "
        "manager first: where other servers have committed their part, commit prepared is the right end",
    )
