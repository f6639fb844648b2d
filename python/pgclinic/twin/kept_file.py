"""Twins in the lab's home: a dataset names a file by its content, wherever it came from.

A run says which twin it used by the hash of the file, not by a path of one machine; the file itself is kept once, so
that a run can be resumed, and sent to the hosts of a fleet.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.lab.home import folder
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import Twin, TwinWorkload
from pgclinic.twin.file import read_twin


def keep_twin(path: Path, *, scale: float = 1.0) -> TwinDataset:
    """The dataset of a twin's file, which is kept from now on. Raises UsageError: no file, or no scale above 0."""
    if not scale > 0:
        raise UsageError(f"a twin cannot have {scale:g} times the rows of the original", hint="--scale 0.1")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="pgclinic capture twin DSN -o shop.twin") from error
    digest = sha256(content).hexdigest()
    keep_content(digest, content)
    rows = rows_identity(read_twin(path))
    return TwinDataset(name=path.stem, sha256=digest, scale=scale, rows_sha256=rows)


def rows_identity(twin: Twin) -> str:
    """The hash of all that the rows of a twin are made from: two captures that differ in their workload share it."""
    rows = replace(twin, workload=TwinWorkload(), holds=(), gaps=(), captured_epoch_s=0.0, capture_s=0.0)
    return sha256(msgspec.json.encode(rows)).hexdigest()


def keep_content(digest: str, content: bytes) -> None:
    """Put the content of a file where ``kept_twin`` finds it."""
    there = kept_file(digest)
    if there.is_file():
        return
    building = there.with_name(f".new-{digest}-{os.getpid()}")
    building.write_bytes(content)
    shutil.move(building, there)


def kept_twin(dataset: TwinDataset) -> Path:
    """The kept file. Raises UsageError when it is not on this machine any more."""
    there = kept_file(dataset.sha256)
    if not there.is_file():
        raise UsageError(
            f"the twin {dataset.name} ({dataset.sha256[:12]}) is not kept in {there.parent}",
            hint="name the file again with --twin",
        )
    return there


def kept_file(digest: str) -> Path:
    """Where the file with this content is, or would be."""
    return folder("twins") / f"{digest}.twin"
