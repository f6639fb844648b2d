"""The per-second table of a load as a file: JSON lines, or Parquet through DuckDB."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from pgclinic.errors import UsageError
from pgclinic.model.load import SecondFailure, SecondResult

#: A field's type as the Parquet file has it. What is nested stays nested: both forms hold the same rows.
_COLUMN_TYPES = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    str | None: "VARCHAR",
    tuple[SecondFailure, ...]: "STRUCT(sqlstate VARCHAR, count BIGINT)[]",
}


def refuse_unwritable(option: str, paths: Iterable[Path]) -> None:
    """Raises UsageError before the run when a file could not be written after it, or stands there already."""
    for path in paths:
        if not path.absolute().parent.is_dir():
            raise UsageError(f"{option}: there is no directory {path.absolute().parent}")
        if path.is_file():
            raise UsageError(f"{option}: {path} exists", hint="name another file, or remove that one")
        if path.suffix == ".parquet":
            _duckdb(path)


def write_seconds(path: Path, seconds: Iterable[SecondResult]) -> None:
    """One row a second and script. Raises UsageError when the file cannot be written."""
    rows = b"".join(msgspec.json.encode(second) + b"\n" for second in seconds)
    try:
        if path.suffix == ".parquet":
            _write_parquet(path, rows)
        else:
            path.write_bytes(rows)
    except OSError as error:
        raise UsageError(f"--seconds: cannot write {path}: {error.strerror}") from error


def _write_parquet(path: Path, rows: bytes) -> None:
    """Through a file of JSON lines, which DuckDB reads with the types stated here; without a name, so none is left."""
    duckdb = _duckdb(path)
    columns = ", ".join(f"{field.name}: '{_COLUMN_TYPES[field.type]}'" for field in _fields())
    with tempfile.TemporaryFile() as source:
        source.write(rows)
        source.flush()
        query = (
            f"select * from read_json('/dev/fd/{source.fileno()}', format='newline_delimited', columns={{{columns}}})"
        )
        with duckdb.connect() as connection:
            connection.sql(query).write_parquet(str(path))


def _fields() -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(SecondResult)


def _duckdb(path: Path) -> Any:
    try:
        return importlib.import_module("duckdb")
    except ImportError:
        raise UsageError(
            f"--seconds {path} needs DuckDB, which is not installed",
            hint="pip install 'pgclinic[parquet]', or write .jsonl",
        ) from None
