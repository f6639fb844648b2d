"""The SQL texts of pgclinic, one file per statement and server generation: ``queries/<name>.since_<major>.sql``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pgclinic.errors import UnknownNameError, UsageError

QUERIES = Path(__file__).parent / "queries"
_FILE_NAME = re.compile(r"(?P<name>[a-z0-9_]+)\.since_(?P<major>\d+)\.sql")


@cache
def _catalog(folder: Path) -> dict[str, tuple[tuple[int, Path], ...]]:
    """Every query by name, its files from the newest generation to the oldest."""
    found: dict[str, list[tuple[int, Path]]] = {}
    for path in folder.glob("*.sql"):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise ValueError(f"{path.name}: a query file is named <name>.since_<major>.sql")
        found.setdefault(match["name"], []).append((int(match["major"]), path))
    return {name: tuple(sorted(files, reverse=True)) for name, files in found.items()}


def query_file(name: str, major: int, *, folder: Path = QUERIES) -> Path:
    """The file of query ``name`` for a server of this major version: the newest generation not newer than it."""
    files = _catalog(folder).get(name)
    if files is None:
        raise UnknownNameError("query", name, _catalog(folder))
    for since, path in files:
        if since <= major:
            return path
    raise UsageError(f"query {name!r} needs PostgreSQL {files[-1][0]} or newer, this server is {major}")


@cache
def query(name: str, major: int) -> str:
    """The text of query ``name`` for a server of this major version (9 stands for 9.6)."""
    return query_file(name, major).read_text(encoding="utf-8")


def query_names(prefix: str) -> tuple[str, ...]:
    """All queries whose names begin so, in the order of their names."""
    return tuple(sorted(name for name in _catalog(QUERIES) if name.startswith(prefix)))
