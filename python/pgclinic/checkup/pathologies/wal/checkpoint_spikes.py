"""Checkpoints write all their buffers at once."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import checkpoints
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: The default until 13: writes take half of the time between two checkpoints.
TARGET_MIN = 0.5
#: 8 MB: less is written within the noise of any disk.
BUFFERS_MIN = 1_000
#: A flush of this time at the end of a checkpoint is felt by every commit beside it.
SYNC_S = 1.0


def _detect(case: Case) -> Iterator[Seen]:
    target, found = case.number("checkpoint_completion_target"), checkpoints(case)
    if target is None or found is None or target >= TARGET_MIN or not found.done:
        return
    each = found.buffers_written / found.done
    if each < BUFFERS_MIN:
        return
    sync_s, write_s = found.sync_ms / found.done / 1e3, found.write_ms / found.done / 1e3
    yield Seen(
        subject="checkpoint_completion_target",
        severity=Severity.WARNING if sync_s >= SYNC_S else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "checkpoint_completion_target",
                Fact(name="buffers written by a checkpoint", value=round(each), unit=Unit.BUFFERS),
                Fact(name="time of writing in a checkpoint", value=write_s, unit=Unit.SECONDS),
                Fact(name="time of flushing in a checkpoint", value=sync_s, unit=Unit.SECONDS),
                *found.facts,
            ),
        ),
        cost=Cost(
            kind=CostKind.IO_BYTES_PER_S,
            value=each * case.snapshot.server.block_bytes / max(write_s + sync_s, 1e-3),
            basis=(Fact(name="buffers written by a checkpoint", value=round(each), unit=Unit.BUFFERS),),
        ),
        treatments=(
            change_settings(
                case,
                {"checkpoint_completion_target": "0.9"},
                title="spread the writes of a checkpoint",
                risk="pg_wal keeps somewhat more WAL; a checkpoint by command is as fast as before",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="checkpoint-spikes",
    title="checkpoints write all their buffers at once",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="checkpoint_completion_target is the part of the time between two checkpoints over which the writes are "
    "spread. With a small one the dirty buffers are written as fast as the disk takes them, and reads and commits wait "
    "behind them.",
    threshold="Below 0.5, the default until 13, with 1,000 buffers (8 MB) or more in a checkpoint: fewer are written "
    "within the noise of any disk. A warning if flushing takes a second or more on average.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-CHECKPOINT-COMPLETION-TARGET",),
    detect=_detect,
    explains=("commits-wait-for-sync", "io-pressure"),
    needs=("counters.checkpoints",),
    proof=ProofOn.TWIN,
)
