"""The run folder of ``pgclinic advise``.

run.json        what was asked, on which machine, by which tool
advice.json     the indexes; there as soon as single executions have chosen them
report.html     the page
proofs/         the twin, where it was captured of a server, and the run of the blocks
"""

from __future__ import annotations

from pathlib import Path

from pgclinic.model.advise import IndexAdvice
from pgclinic.model.run import RunInfo
from pgclinic.store.private_folder import new_private_folder, write_private_record

ADVICE, PROOFS = "advice.json", "proofs"


def write_advice_folder(parent: Path, info: RunInfo) -> Path:
    """Make a new folder below ``parent``. Raises DiskFullError, RunFailedError."""
    return new_private_folder(parent, info, info.name)


def write_advice(path: Path, advice: IndexAdvice) -> None:
    """Write the advice into a folder. Raises DiskFullError, RunFailedError."""
    write_private_record(path, ADVICE, advice)
