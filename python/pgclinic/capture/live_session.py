"""The one connection by which a live server is read: read-only, never waiting for a lock, without traces of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pgclinic.errors import ServerLostError
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

APPLICATION_NAME = "pgclinic-capture"
STATEMENT_TIMEOUT_MS = 10_000
#: Whoever waits for a lock makes others wait behind itself.
LOCK_TIMEOUT_MS = 100
UTF8 = "set client_encoding to 'UTF8'"
ENCODING = "show server_encoding"
SQL_ASCII = "set client_encoding to 'SQL_ASCII'"


@contextmanager
def live_session(access: Access, *, statement_timeout_ms: int = STATEMENT_TIMEOUT_MS) -> Iterator[Session]:
    """A session that reads and does nothing else; each query is a transaction, so that none holds the horizon.

    Raises ServerLostError or UsageError.
    """
    with Session(
        access,
        statement_timeout_ms=statement_timeout_ms,
        lock_timeout_ms=LOCK_TIMEOUT_MS,
        read_only=True,
        application_name=APPLICATION_NAME,
    ) as session:
        try:
            use_readable_encoding(session)
            # Settings of the server may be sick, and its log and its statistics should not be full of us.
            session.rows(query("sample_session", access.major))
        except QueryError as error:
            raise ServerLostError(f"the server was lost while connecting: {error.message}") from error
        yield session


def use_readable_encoding(session: Session) -> None:
    """Names and texts come as UTF-8; of a database without an encoding as the bytes that it has. Raises QueryError."""
    session.execute(UTF8)
    (encoding,) = session.row(ENCODING)
    if encoding == "SQL_ASCII":
        # Such a database has any bytes, and the server would refuse those that are no UTF-8.
        session.execute(SQL_ASCII)
        session.decode_any_bytes()
