"""wal_keep_size keeps much more WAL than checkpoints need."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import wal_room
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: The files have to be there: a fresh server keeps nothing yet.
FILLED_SHARE = 0.5
#: Of the size of the file system; checkpoints and slots need room as well.
ROOM_SHARE = 0.1


def _detect(case: Case) -> Iterator[Seen]:
    keep, limit = case.number("wal_keep_size"), case.number("max_wal_size")
    held = next((file.bytes for file in case.snapshot.wal_files), None)
    if keep is None or limit is None or held is None or keep <= limit or held < FILLED_SHARE * keep:
        return
    room = wal_room(case)
    known = () if room is None else (Fact(name="free on its disk", value=room, unit=Unit.BYTES),)
    tight = room is not None and room < ROOM_SHARE * (held + room)
    yield Seen(
        subject="wal_keep_size",
        severity=Severity.WARNING if tight else Severity.NOTICE,
        evidence=(
            setting_evidence(case, "wal_keep_size", Fact(name="pg_wal", value=held, unit=Unit.BYTES), *known),
            setting_evidence(case, "max_wal_size"),
        ),
        cost=Cost(kind=CostKind.SPACE_BYTES, value=max(min(held, keep) - limit, 0.0)),
        treatments=(
            change_settings(
                case,
                {"wal_keep_size": "0"},
                title="keep WAL for standbys by replication slots, with max_slot_wal_keep_size as their limit",
                risk="a standby without a slot that is away for longer than a checkpoint needs the archive or a new "
                "base backup",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="wal-kept",
    title="wal_keep_size keeps more WAL than checkpoints need",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="wal_keep_size segments stay in pg_wal for standbys without a slot, whether there is one or not. It is "
    "space of the disk on which the server stops when it is full.",
    threshold="Above max_wal_size, and pg_wal has at least half of it: below that checkpoints keep as much. A warning "
    "if less than a tenth of the space is free.",
    references=("https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-WAL-KEEP-SIZE",),
    detect=_detect,
    explains=("disk-nearly-full",),
    needs=("wal_files",),
    no_proof="what it costs is disk space, which needs no experiment",
)
