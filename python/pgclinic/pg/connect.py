"""Connections by psycopg: the only file that opens one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from pgclinic.errors import ServerLostError, UsageError
from pgclinic.model.server import Server
from pgclinic.pg.bounded import GRACE_S, BoundedConnection, open_bounded
from pgclinic.pg.dsn import dsn_of

Connection = psycopg.Connection[tuple[Any, ...]]
APPLICATION_NAME = "pgclinic"
CONNECT_TIMEOUT_S = 5
SET_CONFIG = "select pg_catalog.set_config(%s, %s, false)"


def connect(
    server: Server,
    *,
    statement_timeout_ms: int | None = None,
    lock_timeout_ms: int | None = None,
    read_only: bool = False,
    application_name: str = APPLICATION_NAME,
    database: str | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Connection:
    """An autocommit connection to ``server``.

    ``secrets`` are the libpq keywords that a Server never carries (password). Raises ServerLostError when a server of
    the lab does not answer, UsageError when an attached one does not. A statement that outlasts its timeout by GRACE_S,
    as a server that is stopped has it, is given up and the connection closed.
    """
    keywords: dict[str, Any] = dict(secrets or {})
    if database is not None:
        keywords["dbname"] = database
    connection = _open(dsn_of(server), keywords, application_name, attached=server.source == "attached")
    connection.answer_within_s = CONNECT_TIMEOUT_S + GRACE_S
    try:
        _limit(connection, statement_timeout_ms, lock_timeout_ms, read_only)
    except psycopg.Error as error:
        connection.close()
        raise ServerLostError(f"the server was lost while connecting: {error}") from error
    connection.answer_within_s = None if statement_timeout_ms is None else statement_timeout_ms / 1000 + GRACE_S
    return connection


def set_password(connection: Connection, user: str, password: str) -> None:
    """Give a user a password; it is hashed here, so that the server's log cannot contain it."""
    verifier = connection.pgconn.encrypt_password(password.encode(), user.encode())
    statement = sql.SQL("alter role {} password {}").format(sql.Identifier(user), sql.Literal(verifier.decode()))
    connection.execute(statement)


def _open(dsn: str, keywords: dict[str, Any], application_name: str, *, attached: bool) -> BoundedConnection:
    keywords = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": application_name, **keywords}
    if not attached:
        keywords["options"] = ""  # or the caller's PGOPTIONS would change the settings of a lab server
    try:
        return open_bounded(dsn, keywords)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        if attached:
            raise UsageError(f"cannot connect: {reason}") from error
        raise ServerLostError(f"the server does not answer: {reason}") from error


def session_limits(statement_ms: int | None, lock_ms: int | None, read_only: bool) -> dict[str, str]:
    """The settings that a session of ours begins with."""
    wanted = {
        "statement_timeout": None if statement_ms is None else f"{statement_ms}ms",
        "lock_timeout": None if lock_ms is None else f"{lock_ms}ms",
        "default_transaction_read_only": "on" if read_only else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _limit(connection: Connection, statement_ms: int | None, lock_ms: int | None, read_only: bool) -> None:
    """Set limits by statements: a connection pooler refuses them as start-up options."""
    for name, value in session_limits(statement_ms, lock_ms, read_only).items():
        connection.execute(SET_CONFIG, (name, value))
