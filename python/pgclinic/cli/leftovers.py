"""What killed commands left behind: it is removed, with a message, before a new command starts servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from pgclinic.cli.output import say
from pgclinic.errors import RunFailedError
from pgclinic.lab.clone import megabytes
from pgclinic.lab.orphan_cleanup import Cleaned, Kept, clean_up_orphans
from pgclinic.lab.trial_databases import drop_leftovers, recorded
from pgclinic.pg.session import Access


def say_cleaned() -> None:
    """Clean up after killed commands and report it on stderr."""
    for found in clean_up_orphans():
        say(f"pgclinic: {cleaned_words(found)}")


def cleaned_words(cleaned: Cleaned | Kept) -> str:
    """Return a line about an object that was removed, or that could not be."""
    if isinstance(cleaned, Kept):
        return cleaned.words
    if cleaned.kind != "server":
        return f"removed the {cleaned.reason} {cleaned.kind} {cleaned.name} ({megabytes(cleaned.bytes)})"
    ended = f", ended its {cleaned.processes} processes" if cleaned.processes else ""
    return f"removed the server {cleaned.name} ({cleaned.reason}){ended}, freed {megabytes(cleaned.bytes)}"


def say_dropped(dsns: Iterable[str | None]) -> None:
    """Drop the databases of killed commands on these servers, with a message. Raises UsageError: cannot connect."""
    if all(database.is_used() for database in recorded()):
        return
    from pgclinic.lab.sources import attach

    for dsn in dict.fromkeys(dsns):
        if dsn is not None:
            say_dropped_on(attach(dsn))


def say_dropped_on(access: Access, report: Callable[[str], None] = say) -> None:
    """Do the same on one connected server. A database that cannot be dropped stays recorded, for `lab leftovers`."""
    with suppress(RunFailedError):
        for name in drop_leftovers(access):
            where = f"{access.server.host}:{access.server.port}"
            report(f"pgclinic: dropped the database {name}, which a killed command left on {where}")
