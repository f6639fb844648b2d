"""Connection strings: read, shown and stored without their secrets."""

from __future__ import annotations

from pgclinic.errors import UsageError
from pgclinic.model.server import Server

SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})


def parse_dsn(dsn: str) -> dict[str, str]:
    """The keywords of a connection string or URI, secrets included.

    Raises UsageError; libpq's own message is not repeated, because it can quote the password.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {key: str(value) for key, value in conninfo_to_dict(dsn).items() if value is not None}
    except ProgrammingError:
        raise UsageError(
            "this is not a connection string",
            hint="write postgresql://user@host:5432/database or 'host=... port=... user=... dbname=...'",
        ) from None


def split_secrets(parameters: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What may be stored, and what may not."""
    open_ones = {key: value for key, value in parameters.items() if key not in SECRETS}
    return open_ones, {key: value for key, value in parameters.items() if key in SECRETS}


def without_password(dsn: str) -> str:
    """The same connection as keywords, without secrets. Raises UsageError when it cannot be read."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(**split_secrets(parse_dsn(dsn))[0])


def dsn_of(server: Server) -> str:
    """How to connect to a server, as keywords; a server never carries a secret."""
    from psycopg.conninfo import make_conninfo

    known = {"host": server.host, "port": str(server.port), "user": server.user, "dbname": server.database}
    return make_conninfo(**server.parameters, **known)
