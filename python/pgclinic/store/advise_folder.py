"""The run folder of ``pgclinic advise``.

run.json        what was asked, on which machine, by which tool
advice.json     the indexes; there as soon as single executions have chosen them
report.html     the page
proofs/         the twin, where it was captured of a server, and the run of the blocks
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from pgclinic.model.advise import IndexAdvice
from pgclinic.model.run import RunInfo
from pgclinic.store.run_folder import disk_errors, new_folder, write_whole

ADVICE, PROOFS = "advice.json", "proofs"


def write_advice_folder(parent: Path, info: RunInfo) -> Path:
    """Make a new folder below ``parent``. Raises DiskFullError, RunFailedError."""
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in info.name).strip("-")
        path = new_folder(parent, f"{time.strftime('%Y-%m-%d')}-advise-{plain or 'database'}")
        # Statements and names of tables of somebody's server are nobody else's on this machine.
        path.chmod(0o700)
        write_whole(path / "run.json", msgspec.json.format(msgspec.json.encode(info), indent=1) + b"\n", private=True)
    return path


def write_advice(path: Path, advice: IndexAdvice) -> None:
    """Write the advice into a folder. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / ADVICE, msgspec.json.format(msgspec.json.encode(advice), indent=1) + b"\n", private=True)


def write_advice_report(path: Path, html: str) -> Path:
    """Write the page into a folder. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / "report.html", html.encode(), private=True)
    return path / "report.html"
