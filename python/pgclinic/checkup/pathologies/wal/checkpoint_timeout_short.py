"""checkpoint_timeout is below its default on a server that writes."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.image_traffic import image_traffic
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import checkpoints, wal_written
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

TIMEOUT_S = 300.0


def _detect(case: Case) -> Iterator[Seen]:
    timeout_s, found, written = case.number("checkpoint_timeout"), checkpoints(case), wal_written(case)
    if timeout_s is None or found is None or written is None or timeout_s >= TIMEOUT_S:
        return
    between = written.bytes_per_s * timeout_s
    if between < case.snapshot.server.wal_segment_bytes:
        return
    storm = image_traffic(case)
    by_time = found.timed > found.requested
    yield Seen(
        subject="checkpoint_timeout",
        severity=Severity.WARNING if storm is not None and by_time else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "checkpoint_timeout",
                *found.facts,
                Fact(name="WAL between two checkpoints", value=int(between), unit=Unit.BYTES),
                Fact(name="share of full-page images in WAL", value=written.image_share, unit=Unit.SHARE),
            ),
        ),
        cost=Cost(kind=CostKind.WAL_BYTES_PER_S, value=written.image_bytes_per_s, basis=written.facts),
        treatments=(
            change_settings(
                case,
                {"checkpoint_timeout": "15min"},
                title="checkpoints every 15 minutes",
                risk="recovery after a crash replays more WAL",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="checkpoint-timeout-short",
    title="checkpoint_timeout is short for a server that writes",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="A checkpoint writes every dirty buffer, also those that change again at once, and after it the first "
    "change of each page writes a full-page image. Both are paid once for each checkpoint.",
    threshold="Below the default of 5 minutes, and one WAL segment or more between two checkpoints: with less WAL a "
    "checkpoint has hardly anything to write. A warning if full-page images are most of the WAL.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-CHECKPOINT-TIMEOUT",),
    detect=_detect,
    explains=("full-page-image-storm", "wal-compression-off", "io-pressure"),
    needs=("counters.checkpoints",),
    proof=ProofOn.TWIN,
)
