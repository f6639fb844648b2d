"""``pgclinic grow``: what a database costs when it has grown."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import AsJson, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import Runs
from pgclinic.cli.options.server import LabServerOptions


@options
class GrowServerOptions(LabServerOptions):
    """Servers that the lab starts, by default of the original's version."""

    version: Annotated[
        str | None, Option("--version", help="PostgreSQL version [that of the original].", metavar="VERSION")
    ] = None


@options
class GrowRequest:
    """Predict what a database costs when it has grown: each statement is run on twins of several sizes.

    A live server is only read: its twin is captured first. Exit code 4: too little was measured for a prediction.
    """

    source: Annotated[
        str,
        Argument(
            help="Connection string of a live database, or a file of `pgclinic capture twin`.", metavar="DSN|FILE"
        ),
    ]
    to: Annotated[str, Option("--to", help="Size to predict, in rows per row of the original.", metavar="FACTOR")] = (
        "10x"
    )
    fixed: Annotated[
        tuple[str, ...], Option("--fixed", help="A table that keeps its rows; repeatable.", metavar="TABLE")
    ] = ()
    growing: Annotated[
        tuple[str, ...],
        Option(
            "--growing",
            help="A table that grows although it has few rows and nothing is inserted; repeatable.",
            metavar="TABLE",
        ),
    ] = ()
    memory: Annotated[
        str | None, Option("--memory", help="Memory of the original's machine, such as 64GB.", metavar="SIZE")
    ] = None
    observe: Annotated[
        str | None,
        Option(
            "--observe",
            help="Of a live server: count statements for TIME [30s; 0: since the last reset].",
            metavar="TIME",
        ),
    ] = None
    budget: Annotated[str, Option("--budget", help="Time for all twins together.", metavar="TIME")] = "5m"
    server: GrowServerOptions
    runs: Runs = Path("runs")
    plain: Plain = False
    as_json: AsJson = False
