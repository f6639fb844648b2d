"""The server of a bench run: what libpq reaches with the user's options, environment and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pgclinic.bench.request import Address
from pgclinic.errors import UsageError
from pgclinic.model.load import Target
from pgclinic.model.server import server_words
from pgclinic.pg.connect import refusal
from pgclinic.pg.libpq import Reached, libpq_keywords
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import reach
from pgclinic.pg.session import Access, Session

APPLICATION_NAME = "pgclinic-bench"
CONNECT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class ServerConnection:
    """The server of a run, and a session to prepare it. ``words`` name it without secrets.

    ``access`` opens further sessions.
    """

    session: Session
    access: Access
    connect_timeout_s: float
    words: str
    application_name: str = APPLICATION_NAME

    @property
    def target(self) -> Target:
        """Where the load goes. Raises UsageError when the engine could not connect as libpq did."""
        return target_of(self.access, application_name=self.application_name)


@contextmanager
def open_connection(
    address: Address, *, for_load: bool, ask_password: Callable[[], str | None] = lambda: None
) -> Iterator[ServerConnection]:
    """The server that pgbench would use, for the time of the ``with``.

    Raises UsageError when it cannot be reached, and with ``for_load`` when the engine could not connect as libpq did.
    """
    keywords = libpq_keywords(
        dbname=address.dbname, host=address.host, port=address.port, user=address.user, environment=os.environ
    )
    try:
        connection, place, access = reach(keywords, application_name=APPLICATION_NAME, ask_password=ask_password)
    except UsageError as error:
        hint = None if address.is_given or not for_load else "no server at hand? pgclinic bench --lab starts one"
        raise refusal(error.message, hint=hint) from error
    with Session.over(connection) as session:
        if for_load:
            target_of(access)
        yield ServerConnection(
            session=session,
            access=access,
            connect_timeout_s=connect_timeout_s(place),
            words=server_words(access.server.version, "attached", access.server.database),
            application_name=place.keywords.get("application_name") or APPLICATION_NAME,
        )


def connect_timeout_s(place: Reached) -> float:
    """libpq's connect_timeout; one second counts as two there, none or 0 is ours."""
    text = place.keywords.get("connect_timeout", "0")
    seconds = int(text) if text.lstrip("-").isdigit() else 0
    return max(2.0, float(seconds)) if seconds > 0 else CONNECT_TIMEOUT_S
