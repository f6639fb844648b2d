"""Where the load engine connects: what libpq reached with the user's options, environment and files.

libpq resolves everything once, on the connection that prepares the run. What the engine cannot repeat for its own
sessions is refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgclinic.bench.encryption import tls_of
from pgclinic.bench.request import Address
from pgclinic.errors import UsageError
from pgclinic.model.load import Target
from pgclinic.model.server import Server
from pgclinic.pg.libpq import Reached, connect_as_libpq, libpq_keywords, reached
from pgclinic.pg.session import Access, Session
from pgclinic.pg.version import version_of_number

APPLICATION_NAME = "pgclinic-bench"
CONNECT_TIMEOUT_S = 30.0
#: Where libpq looks for certificates and keys that nobody names.
USER_FOLDER = Path("~/.postgresql").expanduser()


@dataclass(frozen=True)
class Patient:
    """The server of a run: a session to prepare it, and where the load goes. ``words`` name it without secrets.

    ``access`` opens further sessions.
    """

    session: Session
    access: Access
    target: Target
    connect_timeout_s: float
    words: str


@contextmanager
def open_patient(
    address: Address, *, for_load: bool, ask_password: Callable[[], str | None] = lambda: None
) -> Iterator[Patient]:
    """The server that pgbench would use, for the time of the ``with``.

    Raises UsageError when it cannot be reached, and with ``for_load`` when the engine could not connect as libpq did.
    """
    keywords = libpq_keywords(
        dbname=address.dbname, host=address.host, port=address.port, user=address.user, environment=os.environ
    )
    try:
        connection = connect_as_libpq(keywords, application_name=APPLICATION_NAME, ask_password=ask_password)
    except UsageError as error:
        hint = None if address.is_given or not for_load else "no server at hand? pgclinic bench --lab starts one"
        raise UsageError(error.message, hint=hint) from error
    with Session.over(connection) as session:
        place = reached(connection)
        if for_load:
            refuse_what_the_engine_cannot(place)
        yield Patient(
            session=session,
            access=access_of(place),
            target=target_of(place),
            connect_timeout_s=connect_timeout_s(place),
            words=f"{place.host}:{place.port}",
        )


def refuse_what_the_engine_cannot(place: Reached) -> None:
    """Raises UsageError naming the libpq option that the engine's own sessions could not honour."""
    if place.encrypted_by == "GSSAPI":
        raise UsageError(
            "the server was reached by GSSAPI encryption, which the load engine does not speak",
            hint="add gssencmode=disable where the server allows it",
        )
    if place.host.startswith("@"):
        raise UsageError("the load engine does not connect to abstract sockets", hint="name a socket directory")
    if place.keywords.get("load_balance_hosts", "disable") != "disable":
        raise UsageError("load_balance_hosts is not supported: all clients use the host that was reached first")
    if place.keywords.get("require_auth"):
        raise UsageError("require_auth is not supported by the load engine")


def target_of(place: Reached) -> Target:
    """The address in the engine's words; its host is the IP address that libpq chose, where there is one."""
    return Target(
        host=place.address or place.host,
        port=place.port,
        user=place.user,
        database=place.database,
        password=place.password,
        application_name=place.keywords.get("application_name") or APPLICATION_NAME,
        options=place.options or None,
        # A server that offered no TLS to libpq offers none to the engine.
        tls=tls_of(place.keywords, host=place.host, user_folder=USER_FOLDER) if place.encrypted_by == "TLS" else None,
    )


def access_of(place: Reached) -> Access:
    """The same server for sessions of our own, by the same user and with the same encryption."""
    own = {"host", "hostaddr", "port", "user", "dbname", "service", "application_name", "connect_timeout"}
    parameters = {key: value for key, value in place.keywords.items() if key not in own}
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
    return Access(server, {"password": place.password} if place.password else {})


def connect_timeout_s(place: Reached) -> float:
    """libpq's connect_timeout; one second counts as two there, none or 0 is ours."""
    text = place.keywords.get("connect_timeout", "0")
    seconds = int(text) if text.lstrip("-").isdigit() else 0
    return max(2.0, float(seconds)) if seconds > 0 else CONNECT_TIMEOUT_S
