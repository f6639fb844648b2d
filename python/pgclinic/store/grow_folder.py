"""The run folder of ``pgclinic grow``.

run.json        what was asked, on which machine, by which tool
original.twin   the captured database; only of a live server
grow.json       what is known so far: written again after each size
report.html     made from the above
"""

from __future__ import annotations

from pathlib import Path

from pgclinic.model.grow import GrowthForecast
from pgclinic.model.run import RunInfo
from pgclinic.store.private_folder import new_private_folder, write_private_record

ORIGINAL = "original.twin"
_GROWTH = "grow.json"


def write_grow_folder(parent: Path, info: RunInfo) -> Path:
    """Make a new folder below ``parent``. Raises DiskFullError, RunFailedError."""
    return new_private_folder(parent, info, info.name)


def write_growth(path: Path, growth: GrowthForecast) -> None:
    """Write the answer into a folder. Raises DiskFullError, RunFailedError."""
    write_private_record(path, _GROWTH, growth)
