"""NAME.twin: a zip with twin.json, the schema as SQL, and what was masked, in words."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

import msgspec

from pgclinic.capture.statements import script
from pgclinic.errors import UsageError
from pgclinic.model.twin import Twin
from pgclinic.store.document import refuse_existing

TWIN_FORMAT = 1
_TWIN = "twin.json"
_SCHEMA = "schema.sql"
_MASKED = "MASKED.md"
#: Statistics of 10,000 tables take some hundred megabytes; what claims more is no twin.
_JSON_BYTES_MAX = 2_000_000_000


def write_twin(path: Path, twin: Twin, *, masked_text: str, force: bool = False) -> None:
    """Write the file, readable by its owner alone. Raises UsageError if it exists and ``force`` is not set, OSError."""
    refuse_existing(path, force=force)
    part = path.with_name(f".{path.name}.part")
    try:
        with (
            os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
            zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            archive.writestr(_MASKED, masked_text)
            archive.writestr(_SCHEMA, script([one.statement for one in twin.objects]))
            archive.writestr(_TWIN, msgspec.json.encode(twin))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_twin(path: Path) -> Twin:
    """The twin in the file. Raises UsageError for anything else, and when it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = archive.getinfo(_TWIN)
            if found.file_size > _JSON_BYTES_MAX:
                raise _not_a_twin(path, f"{_TWIN} has {found.file_size:,} bytes")
            text = archive.read(found)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except zipfile.BadZipFile as error:
        raise _not_a_twin(path, "it is not a zip file, or it is damaged") from error
    except KeyError as error:
        raise _not_a_twin(path, f"it has no {_TWIN}") from error
    except (EOFError, RuntimeError, zlib.error) as error:
        raise _not_a_twin(path, str(error)) from error
    return _decoded(path, text)


def _decoded(path: Path, text: bytes) -> Twin:
    try:
        form = msgspec.json.decode(text, type=_Format).format
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_a_twin(path, str(error)) from error
    if form > TWIN_FORMAT:
        raise UsageError(
            f"{path} has format {form}, this pgclinic reads up to {TWIN_FORMAT}", hint="use a newer pgclinic"
        )
    try:
        return msgspec.json.decode(text, type=Twin)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_a_twin(path, str(error)) from error


class _Format(msgspec.Struct):
    format: int


def _not_a_twin(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} is not a twin: {reason}", hint="make one: pgclinic capture twin DSN -o NAME.twin")
