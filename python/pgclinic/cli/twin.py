"""``pgclinic twin``: what can be said of a twin before anything is judged by it."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pgclinic.cli.options.export import AsJson
from pgclinic.cli.options.record import command_of, options
from pgclinic.cli.options.server import LabServerOptions
from pgclinic.cli.options.workload import TwinScale

twin_app = typer.Typer(
    help="Twins of live databases: how closely they match their originals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@twin_app.callback(help=twin_app.info.help)
def twin() -> None:
    """With a callback it is a group, though it has one command."""


@options
class TwinServerOptions(LabServerOptions):
    """A server that the lab starts, by default of the original's version."""

    version: Annotated[
        str | None, Option("--version", help="PostgreSQL version [that of the original].", metavar="VERSION")
    ] = None


@options
class TwinCheckRequest:
    """Build a twin in the lab, run its workload there, and compare it with what was captured."""

    file: Annotated[Path, Argument(help="A twin that `pgclinic capture twin` wrote.")]
    against: Annotated[
        str | None,
        Option("--against", help="Also compare query plans with those of the original, by EXPLAIN.", metavar="DSN"),
    ] = None
    server: TwinServerOptions
    scale: TwinScale = 1.0
    time: Annotated[str, Option("--time", help="How long the workload runs, such as 30s.", metavar="TIME")] = "10s"
    clients: Annotated[
        int | None,
        Option("-c", "--client", help="Number of clients [as many as worked on the original].", min=1),
    ] = None
    rate: Annotated[
        float | None,
        Option("--rate", help="Transactions per second, as an open loop [as fast as the server is].", min=0.001),
    ] = None
    as_json: AsJson = False


twin_app.command("check")(command_of(TwinCheckRequest))
