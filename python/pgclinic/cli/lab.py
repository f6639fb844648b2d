"""``pgclinic lab``: start, stop, list, versions, psql, logs, events, memory, leftovers, prune."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pgclinic.cli.lab_leftovers import leftovers
from pgclinic.cli.lab_memory import memory
from pgclinic.cli.options.export import AsJson
from pgclinic.cli.options.record import command_of, options
from pgclinic.cli.options.server import LabServerOptions, Settings
from pgclinic.cli.options.workload import TwinScale

lab_app = typer.Typer(
    help="Start real PostgreSQL servers of any version in about a second.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str | None, Argument(help="Name of the server; optional if only one runs.")]
AsJsonLines = Annotated[bool, Option("--json", help="Print one JSON object per line.")]


@options
class LabStartRequest:
    """Start a server that runs until `pgclinic lab stop`."""

    server: LabServerOptions
    settings: Settings = ()
    name: Annotated[str | None, Option("--name", help="Name of the server.")] = None
    port: Annotated[int | None, Option("--port", help="Also listen on this TCP port of this machine.")] = None
    twin: Annotated[
        Path | None,
        Option("--twin", help="Build this twin of a live database in the server, with its settings.", metavar="FILE"),
    ] = None
    scale: TwinScale = 1.0
    as_json: AsJson = False


lab_app.command("start")(command_of(LabStartRequest))


@lab_app.command("stop")
def stop(
    name: Name = None,
    every: Annotated[bool, Option("--all", help="Stop all servers that `lab start` started.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a server and remove its data."""
    from pgclinic.cli.leftovers import say_cleaned
    from pgclinic.cli.output import print_json
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
    templates: Annotated[
        bool, Option("--templates", help="List the templates (filled data directories) instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the running servers."""
    from pgclinic.cli.lab_output import instance_row, table
    from pgclinic.cli.leftovers import say_cleaned
    from pgclinic.cli.output import print_json
    from pgclinic.lab.registry import running

    say_cleaned()
    if templates:
        _list_templates(as_json=as_json)
        return
    rows = [instance_row(instance) for instance in running()]
    if as_json:
        print_json(rows)
    elif rows:
        cells = [(row["name"], row["version"], row["state"], row["dsn"]) for row in rows]
        print(table(("NAME", "VERSION", "STATE", "DSN"), cells))
    else:
        print("no servers")


def _list_templates(*, as_json: bool) -> None:
    from pgclinic.cli.lab_output import table
    from pgclinic.cli.output import print_json
    from pgclinic.lab.clone import megabytes
    from pgclinic.lab.template import templates

    found = templates()
    if as_json:
        print_json(found)
    elif found:
        cells = [(template.key, template.version, megabytes(template.bytes)) for template in found]
        print(table(("TEMPLATE", "VERSION", "SIZE"), cells))
        print(f"{len(found)} templates, {megabytes(sum(template.bytes for template in found))}")
    else:
        print("no templates")


@lab_app.command("versions")
def versions(
    everything: Annotated[
        bool, Option("--all", help="List every release, not only the newest of each branch.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the versions that can be started, and whether they are downloaded."""
    from pgclinic.cli.lab_output import table
    from pgclinic.cli.output import print_json
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
def psql(context: typer.Context, name: Name = None) -> None:
    """Open psql on a server; arguments after -- are passed to psql."""
    import os

    from pgclinic.cli.leftovers import say_cleaned
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
    name: Name = None,
    follow: Annotated[bool, Option("-f", "--follow", help="Wait for new lines until interrupted.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Print the log of a server, including files of the logging collector."""
    import msgspec

    from pgclinic.cli.leftovers import say_cleaned
    from pgclinic.lab.logs import log_lines
    from pgclinic.lab.registry import find

    say_cleaned()
    for line in log_lines(find(name), follow=follow):
        print(msgspec.json.encode({"line": line}).decode() if as_json else line, flush=follow)


@lab_app.command("events")
def events(
    name: Name = None,
    follow: Annotated[bool, Option("-f", "--follow", help="Wait for new events until interrupted.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Print vacuums, checkpoints, lock waits, slow statements, plans, errors and crashes from the log of a server."""
    import msgspec

    from pgclinic.cli.leftovers import say_cleaned
    from pgclinic.lab.log_events import LogEvents
    from pgclinic.lab.registry import find
    from pgclinic.report.words.log_events import counts_line, event_line

    say_cleaned()
    source = LogEvents(find(name))
    for event in source.read(follow=follow):
        print(msgspec.json.encode(event).decode() if as_json else event_line(event), flush=follow)
    print(counts_line(source.counts), file=sys.stderr)


lab_app.command("memory")(memory)
lab_app.command("leftovers")(leftovers)


@lab_app.command("prune")
def prune(
    unused_days: Annotated[
        float, Option("--unused-days", help="Keep templates used in the last N days; 0 keeps none.", min=0.0)
    ] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Remove templates (filled data directories) that have not been used for some time."""
    from pgclinic.cli.leftovers import say_cleaned
    from pgclinic.cli.output import print_json
    from pgclinic.lab.clone import megabytes
    from pgclinic.lab.template import prune as prune_templates

    say_cleaned()
    removed = prune_templates(unused_days)
    if as_json:
        print_json(removed)
    else:
        print(f"removed {len(removed)} templates, {megabytes(sum(template.bytes for template in removed))}")
