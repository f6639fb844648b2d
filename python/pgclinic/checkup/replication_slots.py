"""A replication slot as evidence, and how it is dropped."""

from __future__ import annotations

from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import SlotState
from pgclinic.sql.quoting import literal

_RISK = (
    "its consumer cannot continue where it was and must be set up again; a slot of that name can be created anew, but "
    "not the WAL"
)


def slot_evidence(slot: SlotState, *facts: Fact) -> Evidence:
    known = [
        Fact(name="kind", value=slot.kind if slot.plugin is None else f"{slot.kind}, plugin {slot.plugin}"),
        Fact(name="active", value="yes" if slot.active else "no"),
    ]
    if slot.wal_status is not None:
        known.append(Fact(name="WAL status", value=slot.wal_status))
    if slot.inactive_s is not None:
        known.append(Fact(name="inactive for", value=slot.inactive_s, unit=Unit.SECONDS))
    return Evidence(kind=SubjectKind.SLOT, name=slot.name, pid=slot.active_pid, facts=(*known, *facts))


def drop_slot(slot: SlotState, *, risk: str = _RISK) -> Treatment:
    return Treatment(
        title="drop the slot",
        applies=Applies.STATEMENT,
        sql=(f"select pg_drop_replication_slot({literal(slot.name)})",),
        lock="none",
        risk=risk,
    )
