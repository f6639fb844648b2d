"""The flush at the end of a checkpoint takes seconds: the disk has fallen behind the writes."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import checkpoints
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit

#: A single one may be that of a backup or a load.
CHECKPOINTS_MIN = 3
#: On average. Commits beside it wait for the same disk, and a second is what people notice.
SYNC_S = 1.0
#: The default on Linux.
FLUSH_AFTER = "256kB"


def _detect(case: Case) -> Iterator[Seen]:
    found = checkpoints(case)
    if found is None or found.done < CHECKPOINTS_MIN:
        return
    sync_s = found.sync_ms / found.done / 1e3
    if sync_s < SYNC_S:
        return
    longest = case.log.checkpoint_sync_s_max if case.log is not None else None
    yield Seen(
        subject="checkpoints",
        severity=Severity.WARNING,
        evidence=(
            setting_evidence(
                case,
                "checkpoint_flush_after",
                Fact(name="mean time of flushing in a checkpoint", value=sync_s, unit=Unit.SECONDS),
                *(() if longest is None else (Fact(name="longest in the log", value=longest, unit=Unit.SECONDS),)),
                Fact(name="buffers written by checkpoints", value=found.buffers_written, unit=Unit.BUFFERS),
                *found.facts,
            ),
        ),
        treatments=tuple(_treatments(case)),
    )


def _treatments(case: Case) -> Iterator[Treatment]:
    if case.number("checkpoint_flush_after") == 0:
        yield change_settings(
            case,
            {"checkpoint_flush_after": FLUSH_AFTER},
            title="let the kernel write while the checkpoint goes on",
            risk="pages that change again soon are written more often",
        )
    yield Treatment(
        title="let the kernel start to write earlier (sysctl vm.dirty_background_bytes=67108864), or give data files "
        "a disk that writes faster",
        applies=Applies.MACHINE,
        risk="programs that write files beside the server are slowed down earlier",
    )


PATHOLOGY = Pathology(
    name="checkpoint-flush-slow",
    title="flushing at the end of checkpoints takes seconds",
    area=Area.IO,
    role=Role.SYMPTOM,
    mechanism="A checkpoint writes its buffers to the operating system and flushes the files at its end. If the kernel "
    "has kept most of these writes in memory, the flush writes them all at once, and reads and commits wait behind it.",
    threshold="A second for each checkpoint on average, over three or more: the kernel writes most pages while a "
    "healthy checkpoint goes on, so that its flushes take milliseconds.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-CHECKPOINT-FLUSH-AFTER",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ),
    detect=_detect,
    explains=("commits-wait-for-sync",),
    needs=("counters.checkpoints",),
    no_proof="a lab has neither the disk nor the kernel's settings of the machine",
)
