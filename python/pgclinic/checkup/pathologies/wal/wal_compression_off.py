"""Full-page images make much WAL and are not compressed."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wal.image_traffic import image_traffic
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Cost, CostKind, Role, Severity


def _detect(case: Case) -> Iterator[Seen]:
    written = image_traffic(case)
    if written is None or case.word("wal_compression") != "off":
        return
    yield Seen(
        subject="wal_compression",
        severity=Severity.NOTICE,
        confidence=Confidence.LIKELY,
        evidence=(setting_evidence(case, "wal_compression", *written.facts),),
        cost=Cost(kind=CostKind.WAL_BYTES_PER_S, value=written.image_bytes_per_s, basis=written.facts),
        treatments=(
            change_settings(
                case,
                {"wal_compression": "on"},
                title="compress full-page images",
                risk="compression takes CPU of the sessions that write; lz4, where the server is built with it (15 and "
                "later), takes the least",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="wal-compression-off",
    title="full-page images are written without compression",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="A full-page image holds a whole page, most of which compresses well. With wal_compression off it is "
    "written, flushed, archived and sent to standbys at full size.",
    threshold="As for full-page-image-storm: half of the WAL, at 1 MB/s or more. Below that compression saves less "
    "WAL than the rest of the records takes.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-COMPRESSION",),
    detect=_detect,
    needs=("counters.checkpoints",),
    proof=ProofOn.TWIN,
)
