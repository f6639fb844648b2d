"""Connections by psycopg: the only file that opens one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pgclinic.errors import ServerFullError, ServerLostError, UsageError
from pgclinic.model.server import Server
from pgclinic.pg.dsn import dsn_of

if TYPE_CHECKING:
    import psycopg

    from pgclinic.pg.bounded import BoundedConnection

_FULL = ("too many clients", "connection slots are reserved", "too many connections")
Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
APPLICATION_NAME = "pgclinic"
CONNECT_TIMEOUT_S = 5
BACKEND_PID = "select pg_catalog.pg_backend_pid()"
SET_CONFIG = "select pg_catalog.set_config(%s, %s, false)"
#: A name without a schema is one of PostgreSQL's own. With any other schema here its owner could put a function or an
#: operator there that fits a query of ours better than PostgreSQL's, and have it run with the rights of whoever asks.
CATALOG_ONLY = "pg_catalog, pg_temp"
_IN_TRANSACTION = "60s"
#: query_canceled, idle_session_timeout, transaction_timeout, idle_in_transaction_session_timeout.
_TIMED_OUT = frozenset(("57014", "57P05", "25P04", "25P03"))


def connect(
    server: Server,
    *,
    statement_timeout_ms: int | None = None,
    lock_timeout_ms: int | None = None,
    read_only: bool = False,
    application_name: str = APPLICATION_NAME,
    database: str | None = None,
    secrets: Mapping[str, str] | None = None,
    users_search_path: bool = False,
) -> Connection:
    """An autocommit connection to ``server``.

    Names are looked up in pg_catalog alone; ``users_search_path`` leaves that to the role's own settings, and is for
    SQL that the user wrote.
    ``secrets`` are the libpq keywords that a Server never carries (password). Raises ServerLostError when a server of
    the lab does not answer, UsageError when an attached one does not. A statement that outlasts its timeout by GRACE_S,
    as a server that is stopped has it, is given up and the connection closed.
    """
    from pgclinic.pg.bounded import GRACE_S

    keywords: dict[str, Any] = dict(secrets or {})
    if database is not None:
        keywords["dbname"] = database
    attached = server.source == "attached"
    limits = session_limits(
        statement_timeout_ms, lock_timeout_ms, read_only, users_search_path, major=server.version_num // 10000
    )
    connection = _open(dsn_of(server), keywords, application_name, attached=attached)
    connection.answer_within_s = CONNECT_TIMEOUT_S + GRACE_S
    refused = _begin(connection, limits, refuse_pooler=read_only and attached)
    if refused is not None:
        # Timeouts of the role or the database ended the session before it had set its own.
        keywords["options"] = _with_limits(dsn_of(server) if attached else "", limits)
        connection = _open(dsn_of(server), keywords, application_name, attached=attached)
        connection.answer_within_s = CONNECT_TIMEOUT_S + GRACE_S
        refused = _begin(connection, {}, refuse_pooler=read_only and attached)
    if refused is not None:
        raise ServerLostError(f"the server was lost while connecting: {refused}") from refused
    connection.answer_within_s = None if statement_timeout_ms is None else statement_timeout_ms / 1000 + GRACE_S
    return connection


def _begin(connection: Connection, limits: Mapping[str, str], *, refuse_pooler: bool) -> psycopg.Error | None:
    """Set the limits. The error when one of the server's timeouts ended a statement or the session; it is closed then.

    Raises ServerLostError where the server was lost, and UsageError for a pooler.
    """
    import psycopg

    try:
        if refuse_pooler:
            _refuse_pooler(connection)
        _limit(connection, limits)
    except psycopg.Error as error:
        connection.close()
        if error.sqlstate in _TIMED_OUT:
            return error
        raise ServerLostError(f"the server was lost while connecting: {error}") from error
    return None


def _with_limits(dsn: str, limits: Mapping[str, str]) -> str:
    """The startup options of ``dsn`` with ``limits``, which as such precede what the role and the database have."""
    from psycopg.conninfo import conninfo_to_dict

    given = str(conninfo_to_dict(dsn).get("options") or os.environ.get("PGOPTIONS", "") if dsn else "")
    # White space would end a value.
    ours = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in limits.items())
    return f"{given} {ours}".strip()


def set_password(connection: Connection, user: str, password: str) -> None:
    """Give a user a password; it is hashed here, so that the server's log cannot contain it."""
    from psycopg import sql

    verifier = connection.pgconn.encrypt_password(password.encode(), user.encode())
    statement = sql.SQL("alter role {} password {}").format(sql.Identifier(user), sql.Literal(verifier.decode()))
    connection.execute(statement)


def _open(dsn: str, keywords: dict[str, Any], application_name: str, *, attached: bool) -> BoundedConnection:
    import psycopg

    from pgclinic.pg.bounded import open_bounded

    keywords = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": application_name, **keywords}
    if not attached:
        keywords["options"] = ""  # or the caller's PGOPTIONS would change the settings of a lab server
    try:
        return open_bounded(dsn, keywords)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        if attached:
            raise refusal(f"cannot connect: {reason}") from error
        raise ServerLostError(f"the server does not answer: {reason}") from error


def refusal(message: str, *, hint: str | None = None) -> UsageError:
    """The error for a connection that an existing server refused.

    libpq hands on the words of the server alone, without its error code, so whether the server is full is read out of
    them, here and nowhere else.
    """
    if not any(words in message for words in _FULL):
        return UsageError(message, hint=hint)
    return ServerFullError(message, hint="end idle sessions, or connect as a role for which connections are reserved")


def _refuse_pooler(connection: Connection) -> None:
    """Raise UsageError where somebody in between shares the server's sessions out, transaction by transaction.

    What this session sets would hold for other clients' transactions, and not for all of its own. Such a pooler says
    another process id than the server does.
    """
    row = connection.execute(BACKEND_PID).fetchone()
    if row is not None and row[0] != connection.info.backend_pid:
        connection.close()
        raise UsageError(
            "a connection pooler is at this address, and other clients would get the settings of this session",
            hint="name the server itself: its own host and port",
        )


def session_limits(
    statement_ms: int | None, lock_ms: int | None, read_only: bool, users_search_path: bool = False, *, major: int
) -> dict[str, str]:
    """The settings that a session of ours begins with, in the order in which they are set.

    A role or a database may have timeouts that are too short for us; a session that only reads has none of those. All
    others keep them: a holder of the xmin horizon is to be ended by the server where a study says so. Between two
    statements of a transaction we compute for less than a minute; one that is stopped there must not hold the xmin
    horizon for longer.
    """
    reads = statement_ms is not None and read_only
    wanted = {
        "statement_timeout": None if statement_ms is None else f"{statement_ms}ms",
        "idle_session_timeout": "0" if reads and major >= 14 else None,
        "transaction_timeout": "0" if reads and major >= 17 else None,
        "idle_in_transaction_session_timeout": _IN_TRANSACTION if reads else None,
        "search_path": None if users_search_path else CATALOG_ONLY,
        "lock_timeout": None if lock_ms is None else f"{lock_ms}ms",
        "default_transaction_read_only": "on" if read_only else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _limit(connection: Connection, limits: Mapping[str, str]) -> None:
    """Set limits by statements: a connection pooler refuses them as start-up options."""
    for name, value in limits.items():
        connection.execute(SET_CONFIG, (name, value))
