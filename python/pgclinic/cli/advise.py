"""``pgclinic advise``: indexes for the whole workload of a database, each measured on its twin."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import AsJson, Force, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import Runs
from pgclinic.cli.options.workload import TwinScale


@options
class AdviseLimitOptions:
    """How many indexes, how large, and what they may cost writes."""

    max_indexes: Annotated[int, Option("--max-indexes", help="Maximum number of new indexes.", min=1)] = 10
    max_size: Annotated[
        str | None, Option("--max-size", help="Maximum size of all new indexes together, such as 2GB.", metavar="SIZE")
    ] = None
    max_write_overhead: Annotated[
        str,
        Option(
            "--max-write-overhead",
            help="Maximum time that writes may take longer, as a share of the workload's server time.",
            metavar="PERCENT",
        ),
    ] = "5%"


@options
class AdviseRequest:
    """Advise indexes for the whole workload of a database, each measured on its twin.

    A server is only read: its twin is captured first, and all indexes are built on the twin. The chosen set is compared
    with the twin as it is in blocks of trials. What could be dropped is listed; indexes of constraints never are.
    """

    source: Annotated[
        str,
        Argument(
            help="Connection string or URI of the server, or a captured twin, FILE.twin.", metavar="DSN|FILE.twin"
        ),
    ]
    budget: Annotated[
        str, Option("--budget", help="Time for everything: measuring, choosing, blocks.", metavar="TIME")
    ] = "10m"
    limits: AdviseLimitOptions
    observe: Annotated[
        str | None,
        Option(
            "--observe",
            help="Count statements of the server for TIME, such as 10m [since the last reset].",
            metavar="TIME",
        ),
    ] = None
    scale: TwinScale = 1.0
    prove: Annotated[
        bool, Option("--prove/--no-prove", help="Compare the chosen set with the twin as it is in blocks of trials.")
    ] = True
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="Write the indexes with their undo as a psql script.", metavar="FILE.sql"),
    ] = None
    force: Force = False
    runs: Runs = Path("runs")
    plain: Plain = False
    as_json: AsJson = False
