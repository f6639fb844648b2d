"""Reads the parts of a snapshot, one query each, and keeps a list of what could not be read."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from pgclinic.capture.impossible_figures import possible_rows
from pgclinic.capture.parts import Part
from pgclinic.errors import ServerLostError, UsageError
from pgclinic.model.decoding import decoder_of
from pgclinic.model.snapshot import ServerState
from pgclinic.model.twin import Gap
from pgclinic.pg.extension_schemas import extension_schemas, in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session

#: A gap's problem where rows or values were hidden from the role without an error.
HIDDEN = "hidden"
#: Where the extension that has them is not in this database, or is of an older version.
MISSING = "missing"
#: Where relations were locked exclusively, and their files were not asked for.
LOCKED = "locked"
#: What brings the columns of this server to an extension of an older one.
UPDATE = "alter extension pg_stat_statements update"
#: Which columns pg_stat_statements has is a matter of the extension, not of the server.
STATEMENTS_VERSION = "select extversion as version from pg_extension where extname = 'pg_stat_statements'"
_DENIED = "42501"
_NO_FUNCTION, _NO_RELATION, _NOT_LOADED = "42883", "42P01", "55000"
#: Which major version brought each version of pg_stat_statements, whose columns are those of the extension.
_STATEMENTS_SINCE = {(1, 8): 13, (1, 9): 14, (1, 10): 15, (1, 11): 17, (1, 12): 18}
_OF_STATEMENTS = frozenset({"statements", "statements_info"})


class PartReader:
    """Asks for parts on one session. ``gaps`` are those that failed, ``query_s`` how long each query took."""

    def __init__(self, session: Session, major: int) -> None:
        self.gaps: dict[str, Gap] = {}
        self.query_s: dict[str, float] = {}
        #: By part and field, each with the first such value.
        self.impossible: dict[str, dict[str, str]] = {}
        self._session = session
        self._major = major
        self._statements_major = major
        self._has_statements = False
        self._schemas = extension_schemas(session, major)
        self.server = self._server()

    def rows(self, name: str, kind: Any, sql: str) -> tuple[Any, ...]:
        """The rows of ``sql`` as records of ``kind``. Raises QueryError, and ServerLostError where nobody answers."""
        began_s = time.monotonic()
        try:
            text = self._session.document(as_json(sql))
        except QueryError as error:
            if error.sqlstate is None:
                raise ServerLostError(f"the server was lost: {error.message}") from error
            raise
        finally:
            self.query_s[name] = self.query_s.get(name, 0.0) + time.monotonic() - began_s
        # The server sends what a database without an encoding has, whatever it is.
        readable = text if text.isascii() else text.decode(errors="replace").encode()
        found, impossible = possible_rows(decoder_of(tuple[kind, ...], strict=False).decode(readable))
        if impossible:
            self.impossible[name] = impossible | self.impossible.get(name, {})
        return found

    def part(self, part: Part, within: str = "") -> tuple[Any, ...]:
        """The rows of one part; none, and a gap of its name behind ``within``, where it cannot be read."""
        name = within + part.name
        if self._major < part.since:
            self.gaps[name] = Gap(what=name, problem=f"PostgreSQL {part.since}", since=part.since)
            return ()
        major = self._statements_major if part.name in _OF_STATEMENTS else self._major
        try:
            return self.rows(name, part.kind, in_schemas(part.sql(major), self._schemas))
        except QueryError as error:
            is_missing = part.missing is not None and error.sqlstate in (_NO_FUNCTION, _NO_RELATION)
            problem = MISSING if is_missing else error.message.splitlines()[0]
            self.gaps[name] = Gap(what=name, problem=problem, grant=self._remedy(part, error))
        except UsageError as error:
            self.gaps[name] = Gap(what=name, problem=error.message, grant=UPDATE if self._has_statements else None)
        except msgspec.ValidationError as error:
            self.gaps[name] = Gap(what=name, problem=str(error))
        return ()

    def granted(self, statement: str) -> str:
        """A GRANT for the role that asks."""
        return statement.format(role=self.server.user_identifier)

    def _remedy(self, part: Part, error: QueryError) -> str | None:
        if error.sqlstate == _DENIED:
            return self.granted(part.grant)
        if error.sqlstate in (_NO_FUNCTION, _NO_RELATION, _NOT_LOADED):
            return UPDATE if self._has_statements and part.missing is not None else part.missing
        return None

    def _server(self) -> ServerState:
        server: ServerState = self.rows("server", ServerState, query("snapshot_server", self._major))[0]
        for row in self.rows("server", dict[str, str], STATEMENTS_VERSION):
            self._has_statements = True
            self._statements_major = _statements_major(row["version"], self._major)
        return server


def as_json(sql: str) -> str:
    """A query whose only row is all rows of ``sql``."""
    return f"select coalesce(json_agg(part), '[]')::text from (\n{sql}\n) as part"


def _statements_major(version: str, major: int) -> int:
    """The generation of columns that this version of the extension has."""
    try:
        wanted = tuple(int(word) for word in version.split("."))
    except ValueError:
        return major
    known = [since for number, since in _STATEMENTS_SINCE.items() if number <= wanted]
    return min(max(known, default=0), major)
