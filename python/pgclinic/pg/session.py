"""One connection used by one thread, with errors of our own: no other layer sees the driver."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pgclinic.errors import RunFailedError
from pgclinic.model.server import Server
from pgclinic.pg.connect import CATALOG_ONLY, Connection, connect

if TYPE_CHECKING:
    import psycopg
    from psycopg import pq
    from psycopg.abc import PQGen

CANCEL_TIMEOUT_S = 2.0
_CATALOG_ONLY = f"set search_path = {CATALOG_ONLY}"


class QueryError(RunFailedError):
    """A statement failed; ``sqlstate`` is None when the connection was lost."""

    def __init__(self, message: str, *, sqlstate: str | None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


@dataclass(frozen=True)
class Access:
    """A server together with the secrets that open it. Never stored, never printed.

    ``secrets`` are libpq keywords. ``startup_options`` are all settings that a session begins with, those that libpq
    takes from its environment among them. ``encrypted_by`` is how libpq's own session was encrypted: ``TLS``,
    ``GSSAPI`` or nothing. ``author`` is the role that runs what the author of a twin wrote, where the data are those
    of a twin: it has no right beyond its database.
    """

    server: Server
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    startup_options: str = ""
    encrypted_by: str = ""
    author: str | None = None

    @property
    def of_author(self) -> Access:
        """The same server for whatever calls objects of the database: statements of clients, their plans and values."""
        if self.author is None or self.author == self.server.user:
            return self
        return replace(self, server=structs.replace(self.server, user=self.author))

    @property
    def major(self) -> int:
        return self.server.major


@dataclass(frozen=True)
class ParseFault:
    """``position`` is the index of the character at which the server found it, None where it names none."""

    sqlstate: str
    message: str
    position: int | None


def _as_it_is(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row


def _readable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_text(value) for value in row)


def _readable_json(document: str | bytes) -> Any:
    """Escapes stand in the values, as a backslash within the document would be its own."""
    text = document if isinstance(document, str) else document.decode(errors="surrogateescape")
    return _without_surrogates(json.loads(text))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in value.items()}
    return [_without_surrogates(one) for one in value] if isinstance(value, list) else value


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return [_text(one) for one in value] if isinstance(value, list) else value


class Session:
    """An autocommit session with a statement_timeout. Close it, or use it in a ``with``.

    A name without a schema is one of pg_catalog, unless ``users_search_path`` says that the SQL is the user's own.
    """

    #: What becomes of each row that is read.
    _readable: Callable[[tuple[Any, ...]], tuple[Any, ...]] = staticmethod(_as_it_is)

    def __init__(
        self,
        access: Access,
        *,
        statement_timeout_ms: int,
        application_name: str,
        database: str | None = None,
        lock_timeout_ms: int | None = None,
        read_only: bool = False,
        users_search_path: bool = False,
    ) -> None:
        self._connection = connect(
            access.server,
            statement_timeout_ms=statement_timeout_ms,
            lock_timeout_ms=lock_timeout_ms,
            read_only=read_only,
            application_name=application_name,
            database=database,
            secrets=access.secrets,
            users_search_path=users_search_path,
        )

    @classmethod
    def over(cls, connection: Connection) -> Session:
        """A session on a connection that is open already; closing it closes the connection."""
        session = cls.__new__(cls)
        session._connection = connection
        return session

    @contextmanager
    def users_search_path(self) -> Iterator[None]:
        """Names mean what they mean to the user, for a query that says of all others that they are of pg_catalog."""
        self.execute("reset search_path")
        try:
            yield
        finally:
            self.execute(_CATALOG_ONLY)

    @contextmanager
    def catalog_only(self) -> Iterator[None]:
        """For queries of ours in a session that has the user's search_path."""
        self.execute(_CATALOG_ONLY)
        try:
            yield
        finally:
            self.execute("reset search_path")

    def execute(self, sql: str) -> None:
        """Run one or several statements and drop what they return. Raises QueryError."""
        self._run(sql)

    def row(self, sql: str, values: Mapping[str, object] | None = None) -> tuple[Any, ...]:
        """The first row of the result. Raises QueryError, also when there is none."""
        rows = self.rows(sql, values)
        if not rows:
            raise QueryError("the query returned no row", sqlstate=None)
        return rows[0]

    def rows(self, sql: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """All rows of the last statement's result; ``%(name)s`` stands for a value. Raises QueryError."""
        cursor = self._run(sql, values)
        with _own_errors():
            return [self._readable(row) for row in cursor.fetchall()]

    def decode_any_bytes(self) -> None:
        """From now on texts that have no encoding come as text too: what is no UTF-8 is shown as ``\\xe9``."""
        from psycopg.types.json import set_json_loads

        self._readable = _readable
        set_json_loads(_readable_json, self._connection)

    def document(self, sql: str) -> bytes:
        """The only value of the only row as it was sent, such as a large JSON text. Raises QueryError."""
        result = self._run(sql).pgresult
        value = result.get_value(0, 0) if result is not None and result.ntuples else None
        if value is None:
            raise QueryError("the query returned no value", sqlstate=None)
        return value

    def records(self, sql: str, values: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """All rows of the last statement's result, each by the names of its columns. Raises QueryError."""
        cursor = self._run(sql, values)
        names = [column.name for column in cursor.description or ()]
        with _own_errors():
            return [dict(zip(names, self._readable(row), strict=True)) for row in cursor.fetchall()]

    def parse(self, sql: str) -> ParseFault | None:
        """What the server finds wrong with one statement, which is parsed and analysed and never executed.

        ``$1`` and so on stand for values. None where it finds nothing wrong. Raises QueryError when it does not answer.
        """
        from psycopg import pq

        with _own_errors():
            result = self._connection.wait(_prepare(self._connection.pgconn, sql))
        code = pq.DiagnosticField
        if result.status == pq.ExecStatus.COMMAND_OK:
            return None
        field = {
            name: (result.error_field(wanted) or b"").decode(errors="replace")
            for name, wanted in (("sqlstate", code.SQLSTATE), ("message", code.MESSAGE_PRIMARY))
        }
        position = result.error_field(code.STATEMENT_POSITION)
        return ParseFault(**field, position=int(position) - 1 if position else None)

    def copy_in(self, statement: str, blocks: Iterable[bytes]) -> None:
        """Send rows in the form that the COPY statement names. Raises QueryError."""
        with _own_errors(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for block in blocks:
                copy.write(block)

    def on_notice(self, say: Callable[[str], None]) -> None:
        """Hear what the server remarks, as ``NOTICE:  text``."""
        self._connection.add_notice_handler(lambda notice: say(f"{notice.severity}:  {notice.message_primary}"))

    @property
    def version_num(self) -> int:
        """As server_version_num: 180006."""
        return self._connection.info.server_version

    @property
    def backend_pid(self) -> int:
        """Process id of the backend, as the server knows it."""
        return self._connection.info.backend_pid

    def peer_pid(self) -> int | None:
        """Who listens on the socket of the file system that this session goes through, as this machine numbers it."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as end:
            # Where the socket option is missing (macOS) no other process can be examined either.
            if end.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
                return None
            pid, _, _ = struct.unpack(
                "3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            )
        return pid or None

    def abandon(self) -> None:
        """End, from another thread, whatever this session waits for: its statement fails as if the server was gone.

        The server is told to stop first, as it would go on until it next looks at the connection.
        """
        import psycopg

        with contextlib.suppress(psycopg.Error, OSError):
            self._connection.cancel_safe(timeout=CANCEL_TIMEOUT_S)
        with (
            contextlib.suppress(psycopg.Error, OSError),
            socket.socket(fileno=os.dup(self._connection.fileno())) as end,
        ):
            end.shutdown(socket.SHUT_RDWR)

    def server_answers(self) -> bool:
        """Whether the server answers a new session, or refuses it; False after ten seconds without a word."""
        from pgclinic.pg.bounded import BoundedConnection

        still_answers = self._connection.still_answers if isinstance(self._connection, BoundedConnection) else None
        return still_answers is None or still_answers()

    def answers(self) -> bool:
        """Whether the server still answers on this connection."""
        try:
            self.execute("select")
        except QueryError:
            return False
        return True

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, sql: str, values: Mapping[str, object] | None = None) -> psycopg.Cursor[tuple[Any, ...]]:
        with _own_errors():
            # The text comes from our .sql files and from study files; values travel beside it, never inside it.
            # psycopg takes a connection without an encoding for one that has ASCII alone.
            has_encoding = self._connection.info.encoding != "ascii"
            return self._connection.execute(sql if has_encoding else sql.encode(), values)


def _prepare(pgconn: pq.abc.PGconn, sql: str) -> PQGen[pq.abc.PGresult]:
    from psycopg import generators

    pgconn.send_prepare(b"", sql.encode())
    results: list[pq.abc.PGresult] = yield from generators.execute(pgconn)
    return results[-1]


@contextmanager
def _own_errors() -> Iterator[None]:
    """An error of the driver leaves the ``with`` as a QueryError."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise QueryError(str(error).strip() or type(error).__name__, sqlstate=error.sqlstate) from error
