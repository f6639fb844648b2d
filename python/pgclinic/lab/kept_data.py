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


def damaged(kept: Path, reason: str) -> RunFailedError:
    """The error for what is kept and cannot be used."""
    return RunFailedError(f"{kept} is damaged: {reason}", hint=f"remove it, and it is made anew: rm -r '{kept}'")


def _files_of(data: Path) -> KeptFiles:
    """Without what a server leaves behind that runs, or was killed."""
    sizes = [
        Path(folder, name).lstat().st_size
        for folder, _, names in os.walk(data)
        for name in names
        if name not in LEFT_BEHIND
    ]
    return KeptFiles(files=len(sizes), bytes=sum(sizes))
