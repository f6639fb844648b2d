"""One record as one JSON file that the user names: a snapshot, a recording of the horizon."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from pgclinic.errors import UsageError
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.store.run_folder import write_whole

_Document = TypeVar("_Document", bound=Record)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise UsageError, before any work is done, for a file that could not be written or would overwrite another."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", hint="name another file, or add --force to replace it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no directory {path.parent}")


def write_document(path: Path, record: Record, *, force: bool = False) -> None:
    """Write ``record``, readable by its owner alone; an existing file is replaced with ``force`` alone.

    Raises UsageError.
    """
    write_new(path, msgspec.json.encode(record) + b"\n", force=force, private=True)


def write_new(path: Path, content: bytes, *, force: bool = False, private: bool = False) -> None:
    """Write a file that is the user's own. Raises UsageError where it cannot be written, or exists already."""
    try:
        if force:
            write_whole(path, content, private=private)
            return
        mode = 0o600 if private else 0o666
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
            out.write(content)
    except FileExistsError:
        refuse_existing(path, force=force)
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def decode_document(content: bytes, kind: type[_Document], *, where: str, what: str) -> _Document:
    """The record that ``content`` holds. Raises UsageError that names the file ``where`` and ``what`` it should be."""
    try:
        return decoded_json(content, kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{where} is not {what}: {error}") from error


def read_document(path: Path, kind: type[_Document], what: str) -> _Document:
    """The record in a file; ``what`` names it in errors: a snapshot. Raises UsageError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return decode_document(content, kind, where=str(path), what=what)
