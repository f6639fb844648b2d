"""Full-page images that cost something: most of the WAL, at a rate that a disk notices, and due to checkpoints."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.checkup.wal_history import WalWritten, checkpoints, wal_of_changes

#: On a server that was just started or filled every page is changed for the first time, which passes.
CHECKPOINTS_MIN = 3
IMAGE_SHARE = 0.5
IMAGE_BYTES_PER_S = 1_000_000


def image_traffic(case: Case) -> WalWritten | None:
    """The WAL of statements that change rows, if most of it are images; else None."""
    found, written = checkpoints(case), wal_of_changes(case)
    if found is None or written is None or found.done < CHECKPOINTS_MIN:
        return None
    heavy = written.image_share >= IMAGE_SHARE and written.image_bytes_per_s >= IMAGE_BYTES_PER_S
    return written if heavy else None
