"""Messages about existing servers: what a command drops and creates there, and how it is resumed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from pgclinic.errors import RunFailedError
from pgclinic.experiment.servers import ChosenServer
from pgclinic.lab.sources import attach
from pgclinic.lab.trial_databases import drop_leftovers, recorded
from pgclinic.pg.dsn import parse_dsn, split_secrets
from pgclinic.pg.session import Access


def say_dropped(dsns: Iterable[str | None]) -> None:
    """Drop the databases of killed commands on these servers, with a message. Raises UsageError: cannot connect."""
    if all(record.is_used() for record in recorded()):
        return
    for dsn in dict.fromkeys(dsns):
        if dsn is not None:
            say_dropped_on(attach(dsn))


def say_dropped_on(access: Access, say: Callable[[str], None] = lambda text: print(text, file=sys.stderr)) -> None:
    """The same on one connected server. A database that cannot be dropped stays recorded, for `lab leftovers`."""
    with suppress(RunFailedError):
        for name in drop_leftovers(access):
            where = f"{access.server.host}:{access.server.port}"
            say(f"pgclinic: dropped the database {name}, which a killed command left on {where}")


def say_what_is_made(servers: Iterable[ChosenServer]) -> None:
    """Print what will be created on existing servers."""
    for line in dict.fromkeys(server.creates for server in servers if server.creates is not None):
        print(line, file=sys.stderr)


def how_to_resume(dsns: Iterable[str | None]) -> str | None:
    """What must be added to ``--resume`` because run folders store no passwords; None if nothing."""
    if any(split_secrets(parse_dsn(dsn))[1] for dsn in dsns if dsn is not None):
        return "passwords are not stored: set PGPASSWORD, or give --dsn (--a dsn=...) with the password again"
    return None
