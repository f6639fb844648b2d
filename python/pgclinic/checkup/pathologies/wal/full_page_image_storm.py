"""Most of the WAL are images of whole pages."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.image_traffic import image_traffic
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import imaging_statements
from pgclinic.model.finding import Area, Confidence, Cost, CostKind, Role, Severity

#: Then each page costs at most two images an hour.
TIMEOUT_AIM_S = 1800.0


def _detect(case: Case) -> Iterator[Seen]:
    written = image_traffic(case)
    if written is None:
        return
    statements = tuple(imaging_statements(case))
    timeout_s = case.number("checkpoint_timeout") or 0.0
    apart = {"checkpoint_timeout": "30min"} if timeout_s < TIMEOUT_AIM_S else {}
    size = int(max(case.number("max_wal_size") or 0.0, 1 << 30)) >> 30
    yield Seen(
        subject="WAL",
        severity=Severity.WARNING,
        confidence=Confidence.CERTAIN if statements else Confidence.LIKELY,
        evidence=(
            setting_evidence(case, "checkpoint_timeout", *written.facts),
            setting_evidence(case, "max_wal_size"),
            *statements,
        ),
        cost=Cost(kind=CostKind.WAL_BYTES_PER_S, value=written.image_bytes_per_s, basis=written.facts),
        treatments=(
            change_settings(
                case,
                {**apart, "max_wal_size": f"{4 * size}GB"},
                title="fewer checkpoints",
                risk=f"pg_wal grows to {4 * size} GB; recovery after a crash replays more WAL",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="full-page-image-storm",
    title="full-page images are most of the WAL",
    area=Area.WAL,
    role=Role.SYMPTOM,
    mechanism="The first change of a page after a checkpoint writes the whole page to the WAL instead of a record of "
    "the change. When checkpoints are frequent or changes hit pages at random, most WAL is such images, and every "
    "standby, archive and disk flush pays for them.",
    threshold="Half of the WAL of statements that change rows, at 1 MB/s or more over at least three checkpoints: "
    "below that WAL without any image would be more than half as large, and 1 MB/s is below what a disk notices.",
    references=(
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FULL-PAGE-WRITES",
    ),
    detect=_detect,
    explains=("commits-wait-for-sync", "wal-buffers-small", "standby-lags", "io-pressure"),
    needs=("counters.checkpoints",),
    proof=ProofOn.TWIN,
)
