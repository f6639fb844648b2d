"""The slot of a standby that is away keeps the rows alive that the standby last asked for."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.holds import EXPLAINS, THRESHOLD, VACUUM_MANUAL, behind, far_holds, seen_hold
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.replication_slots import drop_slot, slot_evidence
from pgclinic.checkup.treatments import change_settings
from pgclinic.model.finding import Area, Role, Treatment
from pgclinic.model.snapshot import SlotState

#: The first version that gives up a slot nobody has used for long.
_TIMEOUT_SINCE = 18


def _detect(case: Case) -> Iterator[Seen]:
    slots = {one.name: one for one in case.snapshot.slots}
    for hold in far_holds(case, "slot"):
        slot = slots.get(hold.holder)
        if slot is None or slot.active:
            continue
        yield seen_hold(
            case,
            hold,
            subject=f"slot {slot.name}",
            holder=slot_evidence(slot, behind(hold)),
            treatments=_treatments(case, slot),
        )


def _treatments(case: Case, slot: SlotState) -> tuple[Treatment, ...]:
    drop = drop_slot(slot, risk="a standby that comes back must be built anew if the WAL it needs is gone by then")
    if case.major < _TIMEOUT_SINCE:
        return (drop,)
    limit = change_settings(
        case,
        {"idle_replication_slot_timeout": "1d"},
        title="invalidate slots that nobody has used for a day",
        risk="a standby or subscriber that is away for longer must be built anew",
        prevents=True,
    )
    return (drop, limit)


PATHOLOGY = Pathology(
    name="horizon-held-by-slot",
    title="the slot of an absent standby holds the xmin horizon",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="With hot_standby_feedback a standby stores its oldest snapshot in its slot, and the slot keeps it when "
    "the standby is gone. Pruning and VACUUM then remove nothing that is newer, and no session is to blame.",
    threshold=THRESHOLD,
    references=(
        VACUUM_MANUAL,
        "https://www.postgresql.org/docs/current/view-pg-replication-slots.html",
        "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-HOT-STANDBY-FEEDBACK",
    ),
    detect=_detect,
    explains=EXPLAINS,
    needs=("horizon", "slots"),
    proof=ProofOn.STUDY,
    study="global-counters",
)
