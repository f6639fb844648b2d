"""Whether a data directory that is kept for copies still has all its files: how many there were is noted beside it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pgclinic.errors import RunFailedError
from pgclinic.lab.clone import LEFT_BEHIND
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record

_NOTE = "files.json"
#: Without these no server starts; kept data of earlier versions have no note.
_ALWAYS = ("PG_VERSION", "global/pg_control")
#: The smallest of any version has several times as many.
_POSTGRES_BYTES_MIN = 1_000_000
#: Looked through once by a process: nothing of ours changes them.
_WHOLE: set[Path] = set()


class KeptFiles(Record):
    """How many files ``data`` has, and how many bytes are in them."""

    files: int
    bytes: int


def note_files(kept: Path) -> None:
    """Note what ``kept``/data has, before ``kept`` gets the name under which it is found."""
    (kept / _NOTE).write_bytes(msgspec.json.encode(_files_of(kept / "data")))


def refuse_damaged(kept: Path) -> None:
    """Raise RunFailedError where files of ``kept``/data are missing or cut short, with the command that removes it."""
    if kept in _WHOLE:
        return
    missing = [name for name in _ALWAYS if not (kept / "data" / name).is_file()]
    if missing:
        raise damaged(kept, f"{missing[0]} is missing")
    try:
        noted = decoded_json((kept / _NOTE).read_bytes(), KeptFiles)
    except FileNotFoundError:
        noted = None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise damaged(kept, f"{_NOTE} cannot be read") from None
    found = _files_of(kept / "data")
    if noted is not None and found != noted:
        what = (
            f"it has {found.files:,} of {noted.files:,} files"
            if found.files != noted.files
            else f"its files have {found.bytes:,} of {noted.bytes:,} bytes"
        )
        raise damaged(kept, what)
    _WHOLE.add(kept)


def refuse_damaged_version(kept: Path) -> None:
    """Raise RunFailedError where what no server can do without is missing in a version that was downloaded."""
    for name in ("bin/postgres", "bin/initdb"):
        if not (kept / name).is_file():
            raise damaged(kept, f"{name} is missing", again="downloaded again")
    if (kept / "bin/postgres").stat().st_size < _POSTGRES_BYTES_MIN:
        raise damaged(kept, "bin/postgres is cut short", again="downloaded again")
    if not any((kept / share / "postgres.bki").is_file() for share in ("share", "share/postgresql")):
        raise damaged(kept, "postgres.bki is missing", again="downloaded again")


def damaged(kept: Path, reason: str, again: str = "made anew") -> RunFailedError:
    """The error for what is kept and cannot be used."""
    return RunFailedError(f"{kept} is damaged: {reason}", hint=f"remove it, and it is {again}: rm -r '{kept}'")


def _files_of(data: Path) -> KeptFiles:
    """Without what a server leaves behind that runs, or was killed."""
    sizes = [
        Path(folder, name).lstat().st_size
        for folder, _, names in os.walk(data)
        for name in names
        if name not in LEFT_BEHIND
    ]
    return KeptFiles(files=len(sizes), bytes=sum(sizes))
