"""``pgclinic lab``: start, stop, list, versions, psql, logs, events, memory, leftovers, prune."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pgclinic.cli.lab_events import events
from pgclinic.cli.lab_leftovers import leftovers
from pgclinic.cli.lab_memory import memory

if TYPE_CHECKING:
    from pgclinic.lab.registry import Instance

lab_app = typer.Typer(
    help="Start real PostgreSQL servers of any version in about a second.", no_args_is_help=True, rich_markup_mode=None
)

JSON_HELP = "Print JSON."


@lab_app.command("start")
def start(
    version: str | None = typer.Option(None, "--version", help="Version, such as 13 (newest release), 13.3 or 9.6.24."),
    bindir: Path | None = typer.Option(None, "--bindir", help="Directory with the binaries of an installed version."),
    settings: list[str] = typer.Option([], "--set", metavar="NAME=VALUE", help="A setting; may be repeated."),
    name: str | None = typer.Option(None, "--name", help="Name of the server."),
    port: int | None = typer.Option(None, "--port", help="Also listen on this TCP port of this machine."),
    twin: Path | None = typer.Option(
        None, "--twin", metavar="FILE", help="Build this twin of a live database in the server, with its settings."
    ),
    scale: float = typer.Option(1.0, "--scale", help="Rows of the twin per row of the original, such as 0.1."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Start a server that runs until `pgclinic lab stop`."""
    import msgspec

    from pgclinic.cli.lab_output import describe, progress_line, say_cleaned
    from pgclinic.cli.lab_twin import built_twin
    from pgclinic.errors import UsageError
    from pgclinic.lab.cluster import SUPERUSER
    from pgclinic.lab.instance import start_server
    from pgclinic.lab.sources import find_source
    from pgclinic.settings.words import parse_settings
    from pgclinic.twin.author import AUTHOR

    if twin is None and scale != 1.0:
        raise UsageError("--scale needs --twin")
    wanted = parse_settings(settings)
    say_cleaned()
    with progress_line() as on_progress:
        binaries = find_source(version, bindir).ensure(on_progress)
        template, of_twin = (None, {}) if twin is None else built_twin(binaries, twin, scale, on_progress)
    # The superuser of a twin would run what somebody else wrote.
    user = SUPERUSER if twin is None else AUTHOR
    running = start_server(binaries, settings=of_twin | wanted, template=template, name=name, port=port, user=user)
    try:
        _print_one(msgspec.structs.replace(running.instance, detached=True), describe, as_json=as_json)
        # A server whose name was never printed would run until somebody finds it.
        sys.stdout.flush()
        running.detach()
    except BaseException:
        running.stop()
        raise


@lab_app.command("stop")
def stop(
    name: str | None = typer.Argument(None, help="Name of the server; optional if only one runs."),
    every: bool = typer.Option(False, "--all", help="Stop all servers that `lab start` started."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Stop a server and remove its data."""
    from pgclinic.cli.lab_output import print_json, say_cleaned
    from pgclinic.errors import UsageError
    from pgclinic.lab.dismantle import dismantle
    from pgclinic.lab.registry import find, running

    if every and name is not None:
        raise UsageError("--all and a name are mutually exclusive")
    say_cleaned()
    # The servers of running commands, such as a study, belong to these commands.
    chosen = tuple(instance for instance in running() if instance.detached) if every else (find(name),)
    for instance in chosen:
        dismantle(instance)
    if as_json:
        print_json({"stopped": [instance.name for instance in chosen]})
    else:
        print("\n".join(f"stopped {instance.name}" for instance in chosen) or "no server is running")


@lab_app.command("list")
def list_servers(
    templates: bool = typer.Option(False, "--templates", help="List the templates (filled data directories) instead."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """List the running servers."""
    from pgclinic.cli.lab_output import instance_row, print_json, say_cleaned, table
    from pgclinic.lab.clone import megabytes
    from pgclinic.lab.registry import running
    from pgclinic.lab.template import templates as all_templates

    say_cleaned()
    if templates:
        found = all_templates()
        if as_json:
            print_json(found)
        elif found:
            print(table(("TEMPLATE", "VERSION", "SIZE"), [(t.key, t.version, megabytes(t.bytes)) for t in found]))
            print(f"{len(found)} templates, {megabytes(sum(t.bytes for t in found))}")
        else:
            print("no templates")
        return
    rows = [instance_row(instance) for instance in running()]
    if as_json:
        print_json(rows)
    elif rows:
        cells = [(row["name"], row["version"], row["state"], row["dsn"]) for row in rows]
        print(table(("NAME", "VERSION", "STATE", "DSN"), cells))
    else:
        print("no servers")


@lab_app.command("versions")
def versions(
    everything: bool = typer.Option(False, "--all", help="List every release, not only the newest of each branch."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """List the versions that can be started, and whether they are downloaded."""
    from pgclinic.cli.lab_output import print_json, table
    from pgclinic.lab.sources.offer import offered_versions

    found = offered_versions(newest_only=not everything)
    if as_json:
        print_json(found)
        return
    cells = [(offer.version, "downloaded" if offer.cached else "available", offer.source) for offer in found]
    print(table(("VERSION", "STATE", "SOURCE"), cells))


@lab_app.command(
    "psql",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False},
)
def psql(
    context: typer.Context,
    name: str | None = typer.Argument(None, help="Name of the server; optional if only one runs."),
) -> None:
    """Open psql on a server; arguments after -- are passed to psql."""
    import os

    from pgclinic.cli.lab_output import say_cleaned
    from pgclinic.lab.registry import find
    from pgclinic.lab.sources.offer import find_psql
    from pgclinic.pg.dsn import dsn_of

    say_cleaned()
    # `lab psql -- -c "select 1"` puts psql's first option in the place of the name.
    first_is_option = name is not None and name.startswith("-")
    options = [*([name] if name is not None and first_is_option else []), *context.args]
    if options[:1] == ["--"]:
        options = options[1:]
    instance = find(None if first_is_option else name)
    assert instance.server is not None
    program = find_psql(instance.server)
    os.execv(program, [str(program), "-d", dsn_of(instance.server), *options])


@lab_app.command("logs")
def logs(
    name: str | None = typer.Argument(None, help="Name of the server; optional if only one runs."),
    follow: bool = typer.Option(False, "-f", "--follow", help="Wait for new lines until interrupted."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per line."),
) -> None:
    """Print the log of a server, including files of the logging collector."""
    from pgclinic.cli.lab_output import say_cleaned
    from pgclinic.lab.logs import log_lines
    from pgclinic.lab.registry import find

    say_cleaned()
    for line in log_lines(find(name), follow=follow):
        print(_as_json_line(line) if as_json else line, flush=follow)


lab_app.command("events")(events)
lab_app.command("memory")(memory)
lab_app.command("leftovers")(leftovers)


@lab_app.command("prune")
def prune(
    unused_days: float = typer.Option(
        30.0, "--unused-days", min=0.0, help="Keep templates used in the last N days; 0 keeps none."
    ),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Remove templates (filled data directories) that have not been used for some time."""
    from pgclinic.cli.lab_output import print_json, say_cleaned
    from pgclinic.lab.clone import megabytes
    from pgclinic.lab.template import prune as prune_templates

    say_cleaned()
    removed = prune_templates(unused_days)
    if as_json:
        print_json(removed)
    else:
        print(f"removed {len(removed)} templates, {megabytes(sum(template.bytes for template in removed))}")


def _print_one(instance: Instance, describe: Any, *, as_json: bool) -> None:
    from pgclinic.cli.lab_output import instance_row, print_json

    if as_json:
        print_json(instance_row(instance))
    else:
        print(describe(instance))


def _as_json_line(line: str) -> str:
    import msgspec

    return msgspec.json.encode({"line": line}).decode()
