"""NAME.twin: a zip with twin.json, the schema as SQL, and what was masked, in words."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from pgclinic.capture.impossible_figures import without_impossible
from pgclinic.capture.statements import script
from pgclinic.errors import UsageError
from pgclinic.model.decoding import decoded_json
from pgclinic.model.twin import Twin
from pgclinic.store.document import refuse_existing

TWIN_FORMAT = 1
_TWIN = "twin.json"
_SCHEMA = "schema.sql"
_MASKED = "MASKED.md"
#: Statistics of 1,000 tables take some ten megabytes.
_JSON_BYTES_MAX = 256 * 1024 * 1024
_ARCHIVE_BYTES_MAX = 256 * 1024 * 1024
#: What the values of the file take in memory: its text, and so much for each value and each key.
_VALUE_BYTES = 64
_MEMORY_BYTES_MAX = 1024 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_ENTRIES_MAX = 16
_DIRECTORY_BYTES_MAX = 16 * 1024
_END_OF_ARCHIVE = struct.Struct("<4s4H2LH")
_END_SIGNATURE, _ZIP64_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_BYTES, _COMMENT_BYTES_MAX = 20, 65_535


def write_twin(path: Path, twin: Twin, *, masked_text: str, force: bool = False) -> None:
    """Write the file, readable by its owner alone.

    Raises OSError, and UsageError where another command writes it now, or it exists and ``force`` is not set.
    """
    refuse_existing(path, force=force)
    part = path.with_name(f".{path.name}.part")
    with _alone(part, path) as file:
        try:
            with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                archive.writestr(_MASKED, masked_text)
                archive.writestr(_SCHEMA, script([schema_object.statement for schema_object in twin.objects]))
                archive.writestr(_TWIN, msgspec.json.encode(twin))
            file.flush()
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def _alone(part: Path, path: Path) -> Iterator[BinaryIO]:
    """The unfinished file, empty, which no other command writes; what a killed one left is used again."""
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The other one may have finished between the two lines above: then this is the whole file.
            is_ours = part.exists() and os.path.samestat(part.stat(), os.fstat(file.fileno()))
        except BlockingIOError:
            is_ours = False
        if not is_ours:
            raise UsageError(f"another command writes {path} now", hint="wait for it, or give another name")
        file.truncate(0)
        yield file


def read_twin(path: Path) -> Twin:
    """The twin in the file. Raises UsageError for anything else, and when it cannot be read."""
    try:
        with path.open("rb") as file:
            _refuse_odd_archive(path, file)
            with zipfile.ZipFile(file) as archive:
                text = _unpacked(path, archive)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except zipfile.BadZipFile as error:
        raise _not_a_twin(path, "it is not a zip file, or it is damaged") from error
    except KeyError as error:
        raise _not_a_twin(path, f"it has no {_TWIN}") from error
    except (EOFError, RuntimeError, ValueError, zlib.error) as error:
        raise _not_a_twin(path, str(error)) from error
    return _decoded(path, text)


def _refuse_odd_archive(path: Path, file: BinaryIO) -> None:
    """Raise UsageError for an archive whose table of contents alone would take memory without end, before it is read.

    The end of the archive is found as zipfile finds it: the record at the very end, else the last one that has a
    comment behind it.
    """
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise _not_a_twin(path, "it is not a regular file")
    if status.st_size > _ARCHIVE_BYTES_MAX:
        raise _too_large(path, f"it has {status.st_size:,} bytes, of {_ARCHIVE_BYTES_MAX:,} at most")
    file.seek(max(0, status.st_size - _END_OF_ARCHIVE.size - _COMMENT_BYTES_MAX))
    tail = file.read()
    at = len(tail) - _END_OF_ARCHIVE.size
    if at < 0 or tail[at : at + 4] != _END_SIGNATURE or tail[-2:] != b"\0\0":
        at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END_OF_ARCHIVE.size:
        raise _not_a_twin(path, "it is not a zip file, or it is damaged")
    _, _, _, _, entries, directory_bytes, _, _ = _END_OF_ARCHIVE.unpack_from(tail, at)
    if entries > _ENTRIES_MAX or directory_bytes > _DIRECTORY_BYTES_MAX:
        raise _not_a_twin(path, f"it has {entries:,} entries, of {_ENTRIES_MAX} at most")
    if tail[max(0, at - _ZIP64_BYTES) : at].startswith(_ZIP64_SIGNATURE):
        raise _not_a_twin(path, "it is a zip file of the form for more than 4 GB")
    file.seek(0)


def _unpacked(path: Path, archive: zipfile.ZipFile) -> bytearray:
    """twin.json, read in parts, and given up as soon as more was read than a twin has, whatever the archive says."""
    found = archive.getinfo(_TWIN)
    if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _not_a_twin(path, f"{_TWIN} is compressed by another method than deflate")
    if found.file_size > _JSON_BYTES_MAX:
        raise _too_large(path, f"{_TWIN} has {found.file_size:,} bytes, of {_JSON_BYTES_MAX:,} at most")
    text, values = bytearray(), 0
    with archive.open(found) as packed:
        while part := packed.read(_CHUNK_BYTES):
            text += part
            values += sum(part.count(sign) for sign in (b",", b"[", b"{", b":"))
            if len(text) > _JSON_BYTES_MAX:
                raise _too_large(path, f"{_TWIN} has more than {_JSON_BYTES_MAX:,} bytes")
            if len(text) + values * _VALUE_BYTES > _MEMORY_BYTES_MAX:
                raise _too_large(path, f"{_TWIN} has more than {values:,} values")
    return text


def _decoded(path: Path, text: bytearray) -> Twin:
    try:
        twin = decoded_json(text, Twin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # A newer format may lack what this one has; no tree is made of what is skipped.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            _refuse_newer(path, decoded_json(text, _Format).format)
        raise _not_a_twin(path, str(error)) from error
    _refuse_newer(path, twin.format)
    return without_impossible(twin)


def _refuse_newer(path: Path, form: int) -> None:
    if form > TWIN_FORMAT:
        raise UsageError(
            f"{path} has format {form}, this pgclinic reads up to {TWIN_FORMAT}", hint="use a newer pgclinic"
        )


class _Format(msgspec.Struct):
    format: int


def _too_large(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} is too large for a twin: {reason}",
        hint="capture fewer tables: pgclinic capture twin DSN --tables PATTERN -o NAME.twin",
    )


def _not_a_twin(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} is not a twin: {reason}", hint="make one: pgclinic capture twin DSN -o NAME.twin")
