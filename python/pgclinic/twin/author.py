"""The role of a twin's author: it owns what the twin's file makes in one database, and can do nothing else.

A twin may come from anybody, and function bodies and expressions run whenever its tables are used. So whatever the
file holds is run in sessions that log in as this role; SET ROLE in a session of a superuser would be undone by RESET.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from pgclinic.errors import UsageError
from pgclinic.pg.extension_schemas import extension_schemas
from pgclinic.pg.powers import may_leave_database
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.sql.quoting import identifier, literal

AUTHOR = "pgclinic_author"
_DUPLICATE = "42710"
#: Rows are seen whatever a policy says, as the original's superuser saw them.
_RIGHTS = "login nosuperuser nocreatedb nocreaterole noreplication bypassrls"
_EXTENSION_TIMEOUT_MS = 600_000


class Administrator:
    """A superuser's session in the database of a twin, which finds no object of the twin by an unqualified name."""

    def __init__(self, access: Access, *, statement_timeout_ms: int = _EXTENSION_TIMEOUT_MS) -> None:
        self._access = access
        self._session = Session(access, statement_timeout_ms=statement_timeout_ms, application_name="pgclinic-fill")
        self._session.execute("set synchronous_commit = off")

    def __enter__(self) -> Administrator:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def prepare(self) -> None:
        """Make the role and give it an empty database. Sessions of superusers look into pg_catalog alone from now on.

        Raises QueryError.
        """
        try:
            self._session.execute(f"create role {AUTHOR} {_RIGHTS}")
        except QueryError as error:
            if error.sqlstate != _DUPLICATE:
                raise
            self._session.execute(f"alter role {AUTHOR} {_RIGHTS}")
        database = identifier(self._access.server.database)
        user = identifier(self._access.server.user)
        self._session.execute(f"grant connect, create, temporary on database {database} to {AUTHOR}")
        self._session.execute(f"alter schema public owner to {AUTHOR}")
        self._session.execute(f"alter role {user} in database {database} set search_path = pg_catalog, pg_temp")
        self.forget_settings()

    def set_for_author(self, settings: Mapping[str, str]) -> None:
        """Settings that the role's later sessions begin with, those among them that only a superuser may set."""
        for name, value in settings.items():
            self._session.execute(f"alter role {AUTHOR} set {name} = {literal(value)}")

    def forget_settings(self) -> None:
        """Undo what the role set for its own later sessions, as ALTER ROLE lets everybody do. Raises QueryError."""
        database = identifier(self._access.server.database)
        self._session.execute(f"alter role {AUTHOR} reset all")
        self._session.execute(f"alter role {AUTHOR} in database {database} reset all")

    def create_role(self, quoted: str) -> None:
        """A role that can do nothing, unless there is one of that name. Raises QueryError."""
        try:
            self._session.execute(f"create role {quoted} nologin")
        except QueryError as error:
            if error.sqlstate != _DUPLICATE:
                raise

    def create_extension(self, name: str, schema: str | None) -> None:
        """Safe only as long as the author has made nothing: scripts of extensions run as a superuser."""
        self._session.execute(
            f"create extension if not exists {identifier(name)} schema {identifier(schema or 'public')}"
        )

    def create_apart(self, name: str) -> None:
        """Create an extension beside the author's objects, in a schema that is new and so has none of them.

        Raises QueryError.
        """
        if name in extension_schemas(self._session, self._access.major):
            return
        schema = f"pgclinic_{secrets.token_hex(6)}"
        self._session.execute(f"create schema {schema}")
        self._session.execute(f"create extension {identifier(name)} schema {schema}")

    def vacuum_catalogs(self) -> None:
        """Catalogs belong to the superuser, so that the author's VACUUM leaves them out."""
        names = ", ".join(f"pg_catalog.{identifier(str(name))}" for (name,) in self._catalogs())
        self._session.execute(f"vacuum (analyze) {names}")

    def _catalogs(self) -> list[tuple[object, ...]]:
        return self._session.rows(query("catalogs_of_database", self._access.major))


def is_own(access: Access) -> bool:
    """Whether the server is the lab's, where the role can be made."""
    return access.server.source != "attached"


def refuse_powerful(access: Access) -> None:
    """Raise UsageError where the user of a server that is not the lab's could do more than its databases hold."""
    if may_leave_database(access):
        raise UsageError(
            f"{access.server.user} may run programs or use files on {access.server.host}, and so could a twin's file",
            hint="connect as a role that has CREATEDB and nothing else, or omit --dsn",
        )
