"""A replication slot whose consumer cannot continue."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.replication_slots import drop_slot, slot_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment


def _detect(case: Case) -> Iterator[Seen]:
    for slot in case.snapshot.slots:
        if slot.wal_status != "lost" and slot.invalidation_reason is None and not slot.conflicting:
            continue
        reason = slot.invalidation_reason or ("conflict with recovery" if slot.conflicting else "WAL removed")
        again = Treatment(
            title="set the consumer up again: a new base backup of the standby, or a new copy of the subscription's "
            "tables",
            applies=Applies.APPLICATION,
            risk="reads all of the data once",
        )
        yield Seen(
            subject=f"slot {slot.name}",
            severity=Severity.WARNING,
            evidence=(slot_evidence(slot, Fact(name="invalidated by", value=reason)),),
            treatments=(drop_slot(slot), again),
        )


PATHOLOGY = Pathology(
    name="slot-invalidated",
    title="a replication slot was invalidated",
    area=Area.REPLICATION,
    role=Role.SYMPTOM,
    mechanism="The server has removed WAL or rows that the consumer of this slot still needed, because of "
    "max_slot_wal_keep_size, of idle_replication_slot_timeout, or of recovery. The consumer cannot continue.",
    threshold="None: an invalidated slot never becomes valid again, and whoever relied on it receives nothing.",
    references=(
        "https://www.postgresql.org/docs/current/view-pg-replication-slots.html",
        "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-MAX-SLOT-WAL-KEEP-SIZE",
    ),
    detect=_detect,
    needs=("slots",),
    no_proof="an invalidated slot is certain and needs no measurement",
)
