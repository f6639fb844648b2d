"""What a command says about servers that are not ours: what it drops there, what it makes, how it is resumed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from pgclinic.errors import RunFailedError
from pgclinic.lab.sources import attach
from pgclinic.lab.trial_databases import drop_leftovers, recorded
from pgclinic.pg.dsn import parse_dsn, split_secrets
from pgclinic.pg.session import Access
from pgclinic.study.prepare import Patient


def say_dropped(dsns: Iterable[str | None]) -> None:
    """Drop what killed commands left on these servers, and name it on stderr. Raises UsageError: cannot connect."""
    if all(record.is_used() for record in recorded()):
        return
    for dsn in dict.fromkeys(dsns):
        if dsn is not None:
            say_dropped_on(attach(dsn))


def say_dropped_on(access: Access, say: Callable[[str], None] = lambda text: print(text, file=sys.stderr)) -> None:
    """The same on one server that is connected already. What cannot be dropped stays recorded, for `lab leftovers`."""
    with suppress(RunFailedError):
        for name in drop_leftovers(access):
            where = f"{access.server.host}:{access.server.port}"
            say(f"pgclinic: dropped the database {name}, which a killed command left on {where}")


def say_what_is_made(patients: Iterable[Patient]) -> None:
    """What will be created on servers that are not ours, on stderr."""
    for line in dict.fromkeys(patient.makes for patient in patients if patient.makes is not None):
        print(line, file=sys.stderr)


def how_to_resume(dsns: Iterable[str | None]) -> str | None:
    """What must be added to ``--resume`` because no run folder keeps passwords, None where nothing must."""
    if any(split_secrets(parse_dsn(dsn))[1] for dsn in dsns if dsn is not None):
        return "the run keeps no passwords: set PGPASSWORD, or give --dsn (--a dsn=...) with its password again"
    return None
