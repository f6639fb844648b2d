"""``pgclinic lab leftovers``: databases that killed commands left on existing servers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import AsJson
from pgclinic.cli.options.server import DSN_HELP

if TYPE_CHECKING:
    from pgclinic.lab.trial_databases import FoundDatabase, TrialDatabase


def leftovers(
    dsn: Annotated[
        str | None,
        Argument(help=f"{DSN_HELP[:-1]} [list the records of all servers].", show_default=False),
    ] = None,
    drop: Annotated[bool, Option("--drop", help="Drop the recorded databases that no command uses.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the databases that trials created on an existing server, and drop those of killed commands.

    Only databases that this lab home has recorded are dropped.
    """
    from pgclinic.cli.lab_output import table
    from pgclinic.cli.output import print_json
    from pgclinic.errors import UsageError
    from pgclinic.lab.sources import attach
    from pgclinic.lab.trial_databases import drop_leftovers, found_databases, recorded

    if dsn is None:
        if drop:
            raise UsageError("--drop needs the server's connection string")
        records = recorded()
        if as_json:
            print_json(records)
        else:
            print(table(("NAME", "SERVER", "STATE", "CREATED"), _recorded_rows(records)) if records else "no databases")
        return
    access = attach(dsn)
    dropped = drop_leftovers(access) if drop else ()
    found = found_databases(access)
    if as_json:
        print_json({"dropped": dropped, "databases": found})
        return
    for name in dropped:
        print(f"dropped {name}")
    if found:
        print(table(("NAME", "OWNER", "STATE", "SESSIONS", "SIZE", "CREATED"), _found_rows(found)))
    elif not dropped:
        print("no databases of pgclinic")


def _recorded_rows(records: Iterable[TrialDatabase]) -> list[tuple[str, ...]]:
    return [
        (
            record.name,
            f"{record.host}:{record.port}",
            "in use" if record.is_used() else "left over",
            _when(record.created_epoch_s),
        )
        for record in records
    ]


def _found_rows(found: Iterable[FoundDatabase]) -> list[tuple[str, ...]]:
    from pgclinic.lab.clone import megabytes

    return [
        (
            database.name,
            database.owner,
            database.state.value,
            str(database.sessions),
            "-" if database.bytes is None else megabytes(database.bytes),
            "-" if database.created_epoch_s is None else _when(database.created_epoch_s),
        )
        for database in found
    ]


def _when(epoch_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch_s))
