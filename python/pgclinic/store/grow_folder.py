"""The run folder of ``pgclinic grow``.

run.json        what was asked, on which machine, by which tool
original.twin   the captured database; only of a live server
grow.json       what is known so far: written again after each size
report.html     made from the above
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from pgclinic.model.grow import GrowthForecast
from pgclinic.model.run import RunInfo
from pgclinic.store.run_folder import decoded, disk_errors, new_folder, write_whole

ORIGINAL = "original.twin"
_GROWTH = "grow.json"


def write_grow_folder(parent: Path, info: RunInfo) -> Path:
    """Make a new folder below ``parent``. Raises DiskFullError, RunFailedError."""
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = new_folder(parent, f"{time.strftime('%Y-%m-%d')}-grow-{_plain(info.name)}")
        # Texts of statements and names of tables are nobody else's on this machine.
        path.chmod(0o700)
        write_whole(path / "run.json", msgspec.json.format(msgspec.json.encode(info), indent=1) + b"\n", private=True)
    return path


def write_growth(path: Path, growth: GrowthForecast) -> None:
    """Write the answer into a folder. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / _GROWTH, msgspec.json.format(msgspec.json.encode(growth), indent=1) + b"\n", private=True)


def write_grow_report(path: Path, html: str) -> Path:
    """Write the page into a folder. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / "report.html", html.encode(), private=True)
    return path / "report.html"


def read_grow_info(path: Path) -> RunInfo:
    """Raises RunFailedError where it is damaged."""
    return decoded(path / "run.json", RunInfo)


def _plain(name: str) -> str:
    """A database's name as it can stand in that of a folder."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name).strip("-") or "database"
