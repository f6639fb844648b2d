"""One way to a server that somebody else runs: libpq finds it once, and all further sessions go there as it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec

from pgclinic.errors import UsageError
from pgclinic.model.server import Server
from pgclinic.model.version import version_of_number
from pgclinic.pg.connect import APPLICATION_NAME, Connection, refusal
from pgclinic.pg.dsn import parse_dsn
from pgclinic.pg.libpq import Reached, connect_as_libpq, reached
from pgclinic.pg.session import Access

CONNECT_TIMEOUT_S = 10
#: What stands in a Server itself, and what every session says anew.
_OWN = frozenset({"host", "hostaddr", "port", "user", "dbname", "service", "application_name", "connect_timeout"})
_NO_PASSWORD = "no password supplied"


def reach(
    keywords: Mapping[str, str], *, application_name: str, ask_password: Callable[[], str | None] = lambda: None
) -> tuple[Connection, Reached, Access]:
    """An open connection, where it leads, and how to open more of them.

    ``keywords`` are libpq's; environment, service file and password file fill in the rest. Raises UsageError.
    """
    connection = connect_as_libpq(keywords, application_name=application_name, ask_password=ask_password)
    place = reached(connection)
    return connection, place, access_of(place)


def reach_dsn(dsn: str) -> Access:
    """The server behind a connection string or URI. Raises UsageError when it cannot be reached."""
    keywords = {"connect_timeout": str(CONNECT_TIMEOUT_S)} | parse_dsn(dsn)
    try:
        connection, _, access = reach(keywords, application_name=APPLICATION_NAME)
    except UsageError as error:
        hint = "set PGPASSWORD, or name a password file: passfile=FILE" if _NO_PASSWORD in error.message else error.hint
        raise refusal(f"cannot connect: {error.message}", hint=hint) from error
    connection.close()
    return access


def access_of(place: Reached) -> Access:
    """The same server for further sessions, by the same user and with the same encryption."""
    parameters = {key: value for key, value in place.keywords.items() if key not in _OWN}
    if place.address:
        # One host of several may have been reached: the others are not tried again.
        parameters["hostaddr"] = place.address
    server = Server(
        name=place.database,
        source="attached",
        version=str(version_of_number(place.version_num)),
        version_num=place.version_num,
        host=place.host,
        port=place.port,
        user=place.user,
        database=place.database,
        parameters=parameters,
    )
    return Access(server, place.secrets, startup_options=place.options, encrypted_by=place.encrypted_by)


def in_database(access: Access, database: str) -> Access:
    """The same way to another database of that server."""
    return replace(access, server=msgspec.structs.replace(access.server, database=database))
