"""Run folders that hold names and statements of somebody's server: nobody else on this machine reads them."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from pgclinic.model.run import RunInfo
from pgclinic.store.run_folder import disk_errors, new_folder, write_whole


def new_private_folder(parent: Path, info: RunInfo, database: str, name: str | None = None) -> Path:
    """Make a new folder below ``parent``, named by the day, the command and the database, with run.json in it.

    Where a ``name`` is given the folder has that; a later one of the same name is NAME-2.

    Raises DiskFullError, RunFailedError.
    """
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = new_folder(parent, name or f"{time.strftime('%Y-%m-%d')}-{info.kind.value}-{_plain(database)}")
        path.chmod(0o700)
    write_private_record(path, "run.json", info)
    return path


def write_private_record(path: Path, file: str, record: msgspec.Struct) -> None:
    """Write a record as JSON that people can read. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / file, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n", private=True)


def write_private_report(path: Path, html: str) -> Path:
    """Write the page into a folder. Raises DiskFullError, RunFailedError."""
    with disk_errors(path):
        write_whole(path / "report.html", html.encode(), private=True)
    return path / "report.html"


def _plain(name: str) -> str:
    """A database's name as it can stand in that of a folder."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name).strip("-") or "database"
