"""Connections as libpq itself makes them: options, environment, service file, password file, several hosts."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.pg.connect import Connection, refusal
from pgclinic.pg.dsn import SECRETS

#: For a connection to which nobody gives a connect_timeout; libpq itself would wait without a limit.
CONNECT_TIMEOUT_S = 30
#: Where servers put their sockets: what PostgreSQL's own builds use, and what distributions use.
SOCKET_FOLDERS = ("/tmp", "/var/run/postgresql", "/run/postgresql")


@dataclass(frozen=True)
class Reached:
    """The server that libpq reached, and how. ``host`` is a socket directory when it starts with a slash.

    ``address`` is the IP address behind ``host``, empty for a socket. ``keywords`` are all libpq keywords that had a
    value, without secrets; ``secrets``, the password that was used among them, are never shown.
    """

    host: str
    address: str
    port: int
    user: str
    database: str
    options: str
    encrypted_by: str
    version_num: int
    keywords: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


def is_connection_string(text: str) -> bool:
    """Whether libpq reads this as a connection string or URI and not as a database's name."""
    return text.startswith(("postgresql://", "postgres://")) or "=" in text


def libpq_keywords(
    *, dbname: str | None, host: str | None, port: str | None, user: str | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """The keywords that pgbench hands to libpq: what a connection string says wins over -h, -p and -U.

    The database defaults to PGDATABASE, PGUSER or the account's name, never to what -U says. Raises UsageError.
    """
    named = {"host": host, "port": port, "user": user}
    keywords = {key: value for key, value in named.items() if value is not None}
    if dbname is None:
        dbname = environment.get("PGDATABASE") or environment.get("PGUSER") or pwd.getpwuid(os.geteuid()).pw_name
    if not is_connection_string(dbname):
        return keywords | {"dbname": dbname}
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return keywords | {key: str(value) for key, value in conninfo_to_dict(dbname).items() if value is not None}
    except ProgrammingError as error:
        words = str(error).strip().splitlines()[0]
        # libpq quotes what it cannot read, and that can be a password; only an unknown option's name is safe.
        if words.startswith("invalid connection option"):
            raise UsageError(words) from None
        raise UsageError(
            "the connection string cannot be read",
            hint="write postgresql://user@host:5432/database or 'host=... port=... user=... dbname=...'",
        ) from None


def connect_as_libpq(
    keywords: Mapping[str, str], *, application_name: str, ask_password: Callable[[], str | None] = lambda: None
) -> Connection:
    """An autocommit connection. ``ask_password`` is called once if the server wants one. Raises UsageError."""
    import psycopg

    wanted = dict(keywords) | _default_socket(keywords)
    wanted.setdefault("fallback_application_name", application_name)
    if not (os.environ.get("PGCONNECT_TIMEOUT") or keywords.get("service") or os.environ.get("PGSERVICE")):
        wanted.setdefault("connect_timeout", str(CONNECT_TIMEOUT_S))
    try:
        return _open(wanted)
    except psycopg.OperationalError as error:
        needs = error.pgconn is not None and error.pgconn.needs_password
        password = ask_password() if needs else None
        if password is None:
            raise refusal(_words(error)) from None
    try:
        return _open(wanted | {"password": password})
    except psycopg.OperationalError as error:
        raise refusal(_words(error)) from None


def reached(connection: Connection) -> Reached:
    """Where an open connection leads."""
    pgconn, info = connection.pgconn, connection.info
    values = {
        option.keyword.decode(): option.val.decode() for option in pgconn.info if option.val is not None and option.val
    }
    hidden = SECRETS | {option.keyword.decode() for option in pgconn.info if option.dispchar == b"*"}
    secrets = {key: value for key, value in values.items() if key in hidden}
    if pgconn.password:
        # Wherever libpq found it: in the string, in the environment, in a service or in a password file.
        secrets["password"] = pgconn.password.decode()
    host = info.host
    return Reached(
        host=host,
        address="" if host.startswith(("/", "@")) else info.hostaddr,
        port=info.port,
        user=info.user,
        database=info.dbname,
        options=_startup_options(values),
        encrypted_by="TLS" if pgconn.ssl_in_use else "GSSAPI" if getattr(pgconn, "used_gssapi", False) else "",
        version_num=info.server_version,
        keywords={key: value for key, value in values.items() if key not in hidden},
        secrets=secrets,
    )


def _open(keywords: Mapping[str, str]) -> Connection:
    import psycopg

    from pgclinic.pg.bounded import open_bounded

    try:
        return open_bounded("", keywords)
    except psycopg.ProgrammingError as error:
        raise UsageError(str(error).strip().splitlines()[0]) from None


def _words(error: Exception) -> str:
    from psycopg.errors import ConnectionTimeout

    if isinstance(error, ConnectionTimeout):
        return "the server does not answer: connection timeout expired"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (
        " ".join(lines[:3]).removeprefix("connection failed: ").removeprefix("connection is bad: ")
        or "the connection failed"
    )


def _default_socket(keywords: Mapping[str, str]) -> dict[str, str]:
    """The folder in which a socket of that port really is: builds of libpq differ in where they look by default."""
    from psycopg import pq

    defaults = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}
    if any(keywords.get(key) or defaults.get(key) for key in ("host", "hostaddr", "service")):
        return {}
    port = keywords.get("port") or (defaults.get("port") or b"5432").decode()
    for folder in SOCKET_FOLDERS:
        if (Path(folder) / f".s.PGSQL.{port}").exists():
            return {"host": folder}
    return {}


#: What libpq sends beside ``options`` when the session starts, and where it takes it from.
_STARTUP_VARIABLES = {"PGDATESTYLE": "datestyle", "PGTZ": "timezone", "PGGEQO": "geqo"}


def _startup_options(values: Mapping[str, str]) -> str:
    """``options`` with all that libpq would send apart, so that other sessions can start in the same way."""
    parts = [values["options"]] if values.get("options") else []
    settings = {name: os.environ[key] for key, name in _STARTUP_VARIABLES.items() if os.environ.get(key)}
    encoding = values.get("client_encoding")
    if encoding and encoding != "auto":
        settings["client_encoding"] = encoding
    parts += [f"-c {name}={escaped_option(value)}" for name, value in settings.items() if value != "default"]
    return " ".join(parts)


def escaped_option(value: str) -> str:
    """A value as it stands in libpq's ``options``, where white space would end it."""
    return re.sub(r"([\\\s])", r"\\\1", value)
