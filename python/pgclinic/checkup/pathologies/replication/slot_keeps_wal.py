"""A replication slot keeps WAL that nothing else needs."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.replication_slots import drop_slot, slot_evidence
from pgclinic.checkup.treatments import change_settings
from pgclinic.checkup.wal_volume import wal_bytes_per_s, wal_filesystem, wal_needed_bytes
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Fact,
    Role,
    Severity,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot import SlotState

#: With so little left of max_slot_wal_keep_size the slot is lost at one of the next checkpoints.
LEFT_SHARE = 0.1
_DAY_S = 86_400.0


def _detect(case: Case) -> Iterator[Seen]:
    needed = wal_needed_bytes(case)
    for slot in case.snapshot.slots:
        kept = slot.wal_kept_bytes or 0
        if slot.temporary or slot.wal_status == "lost" or kept <= needed:
            continue
        days = _days_left(case)
        endangered = _nearly_lost(slot) or (days is not None and days < 1.0)
        yield Seen(
            subject=f"slot {slot.name}",
            severity=Severity.CRITICAL if endangered else Severity.WARNING,
            evidence=(
                slot_evidence(
                    slot,
                    Fact(name="WAL kept", value=kept, unit=Unit.BYTES),
                    Fact(name="WAL that checkpoints keep", value=needed, unit=Unit.BYTES),
                    *(
                        (Fact(name="WAL left before it is lost", value=slot.wal_left_bytes, unit=Unit.BYTES),)
                        if slot.wal_left_bytes is not None
                        else ()
                    ),
                    *((Fact(name="disk full in", value=days, unit=Unit.DAYS),) if days is not None else ()),
                ),
            ),
            cost=Cost(
                kind=CostKind.SPACE_BYTES,
                value=kept - needed,
                basis=(Fact(name="WAL kept", value=kept, unit=Unit.BYTES),),
            ),
            treatments=_treatments(case, slot),
        )


def _days_left(case: Case) -> float | None:
    """Until pg_wal fills its file system, if nobody reads and WAL is written as it is now."""
    rate, where = wal_bytes_per_s(case), wal_filesystem(case)
    return where.bytes_free / rate / _DAY_S if rate and where is not None else None


def _nearly_lost(slot: SlotState) -> bool:
    left, kept = slot.wal_left_bytes, slot.wal_kept_bytes
    if slot.wal_status == "unreserved":
        return True
    return left is not None and kept is not None and left < LEFT_SHARE * (left + kept)


def _treatments(case: Case, slot: SlotState) -> tuple[Treatment, ...]:
    limit = change_settings(
        case,
        {"max_slot_wal_keep_size": f"{max(int(4 * wal_needed_bytes(case)) >> 20, 1)}MB"},
        title="limit what slots may keep",
        risk="a consumer that is further behind is lost and must be set up again",
        prevents=True,
    )
    timeout = change_settings(
        case,
        {"idle_replication_slot_timeout": "1d"},
        title="invalidate slots that nobody has used for a day",
        risk="a consumer that is away for longer must be set up again",
        prevents=True,
    )
    consumer = Treatment(
        title="start the consumer again, or find out why it is slow",
        applies=Applies.APPLICATION,
        risk="none",
    )
    return (
        *((drop_slot(slot), consumer) if not slot.active else (consumer,)),
        *(() if (case.number("max_slot_wal_keep_size") or -1.0) > 0 else (limit,)),
        *((timeout,) if case.word("idle_replication_slot_timeout") == "0" else ()),
    )


PATHOLOGY = Pathology(
    name="slot-keeps-wal",
    title="a replication slot keeps WAL",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="A replication slot keeps all WAL that its consumer has not confirmed. When the consumer is away or "
    "slow, pg_wal grows until the file system is full, and the server stops.",
    threshold="More WAL than max_wal_size (or wal_keep_size): up to that a checkpoint may keep it anyway. It is "
    "critical when the slot is about to be lost, or when pg_wal fills its file system within a day.",
    references=(
        "https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS",
        "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-MAX-SLOT-WAL-KEEP-SIZE",
    ),
    detect=_detect,
    explains=("disk-nearly-full", "slot-invalidated"),
    needs=("slots",),
    no_proof="the space that a slot keeps is known without a measurement",
)
