"""max_wal_size is too small for the WAL that is written: checkpoints follow each other closely."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import Checkpoints, WalWritten, checkpoints, forced_distance, wal_room, wal_written
from pgclinic.model.finding import Area, Confidence, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

#: One may be of a load that is over.
REQUESTED_MIN = 3
#: A checkpoint that WAL requests comes after this part of the distance at least; a command requests one after any.
DISTANCE_SHARE = 0.5
#: At half of checkpoint_timeout there are twice the checkpoints by time, and at most twice their full-page images.
TIMEOUT_SHARE = 0.5
#: The next load is a little larger, and a checkpoint starts before its distance is full.
ROOM = 1.2
#: After a crash all of it may have to be replayed.
WAL_SIZE_MAX = 64 << 30
_GB = 1 << 30


def _detect(case: Case) -> Iterator[Seen]:
    found, written, distance = checkpoints(case), wal_written(case), forced_distance(case)
    timeout_s = case.number("checkpoint_timeout")
    if found is None or written is None or distance is None or timeout_s is None or found.requested < REQUESTED_MIN:
        return
    if written.bytes < DISTANCE_SHARE * distance * found.requested:
        return
    apart_s = found.seconds / found.requested
    if apart_s > TIMEOUT_SHARE * timeout_s:
        return
    yield Seen(
        subject="max_wal_size",
        severity=Severity.WARNING,
        # Before 14 WAL is counted by statement, so it may be of another time than the checkpoints.
        confidence=Confidence.CERTAIN if case.major >= 14 else Confidence.LIKELY,
        evidence=(
            setting_evidence(
                case,
                "max_wal_size",
                *found.facts,
                Fact(name="seconds between requested checkpoints", value=apart_s, unit=Unit.SECONDS),
                Fact(name="WAL after which one is requested", value=int(distance), unit=Unit.BYTES),
                Fact(name="WAL", value=written.bytes, unit=Unit.BYTES),
            ),
            setting_evidence(case, "checkpoint_timeout"),
        ),
        cost=_cost(case, found),
        treatments=(_larger(case, written, timeout_s),),
    )


def _cost(case: Case, found: Checkpoints) -> Cost:
    return Cost(
        kind=CostKind.IO_BYTES_PER_S,
        value=found.buffers_written * case.snapshot.server.block_bytes / found.seconds,
        basis=(Fact(name="buffers written by checkpoints", value=found.buffers_written, unit=Unit.BUFFERS),),
    )


def _larger(case: Case, written: WalWritten, timeout_s: float) -> Treatment:
    """So much that WAL of checkpoint_timeout fits, as far as the disk has room for it."""
    target = case.number("checkpoint_completion_target") or 0.9
    wanted = ROOM * written.bytes_per_s * timeout_s * (1.0 + target)
    room = wal_room(case)
    limit = WAL_SIZE_MAX if room is None else min(WAL_SIZE_MAX, room // 2)
    doubled = 2 * (case.number("max_wal_size") or 0.0)
    gigabytes = max(math.ceil(min(max(wanted, doubled), limit) / _GB), 1)
    return change_settings(
        case,
        {"max_wal_size": f"{gigabytes}GB"},
        title="let checkpoints come by time",
        risk=f"pg_wal grows to {gigabytes} GB; recovery after a crash replays more WAL",
    )


PATHOLOGY = Pathology(
    name="checkpoints-forced",
    title="max_wal_size forces checkpoints that follow each other closely",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="When the WAL since the last checkpoint reaches max_wal_size / (1 + checkpoint_completion_target), the "
    "server requests a checkpoint before checkpoint_timeout has passed. Each checkpoint writes all dirty buffers, and "
    "after it the first change of every page writes a full-page image to the WAL, which brings the next one closer.",
    threshold="Requested checkpoints less than half of checkpoint_timeout apart: just above that there are at most "
    "twice as many checkpoints and full-page images as with checkpoints by time. Checkpoints after less than half of "
    "the WAL that requests one were requested by a command and are not counted here.",
    references=(
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-MAX-WAL-SIZE",
    ),
    detect=_detect,
    explains=("full-page-image-storm", "wal-compression-off", "commits-wait-for-sync", "io-pressure"),
    needs=("counters.checkpoints",),
    proof=ProofOn.TWIN,
)
