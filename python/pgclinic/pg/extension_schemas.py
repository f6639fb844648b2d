"""Where extensions are: their objects are named with their schema, and never looked up by search_path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from pgclinic.pg.query_files import query

STATEMENTS = "pg_stat_statements"
PREWARM = "pg_prewarm"
#: Where the text of a query names an extension's schema, as psql writes a variable that is an identifier.
_SCHEMA = re.compile(r':"(\w+)"')


class _Rows(Protocol):
    def rows(self, sql: str) -> Sequence[tuple[object, ...]]: ...


def extension_schemas(session: _Rows, major: int) -> dict[str, str]:
    """The schema of each extension of the database by the extension's name, quoted. Raises QueryError."""
    return {str(name): str(schema) for name, schema in session.rows(query("extension_schemas", major))}


def in_schemas(text: str, schemas: Mapping[str, str]) -> str:
    """``text`` with the schema of each extension that it names as ``:"extension"``.

    The objects of one that is not created are looked for in pg_catalog, so that the server says that they are missing.
    A percent sign of a schema's name is doubled where the text has placeholders for values.
    """
    has_values = "%(" in text

    def schema(match: re.Match[str]) -> str:
        name = schemas.get(match[1], "pg_catalog")
        return name.replace("%", "%%") if has_values else name

    return _SCHEMA.sub(schema, text)
