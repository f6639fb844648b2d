"""``pgclinic runs history``: its options."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import AsJson, Force
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import Kind, Runs


@options
class RunsHistoryRequest:
    """Show the figures of all runs of a name over time, and since which run they have changed.

    Runs are one series if command, server's major version, machine, load and arms are the same. Needs the extra
    pgclinic[history]. Exit code 3: --fail-on is met.
    """

    name: Annotated[str, Argument(help="Name of a study, database or script; compare for comparisons.", metavar="NAME")]
    runs: Runs = Path("runs")
    kind: Kind = None
    figure: Annotated[
        str | None,
        Option("--figure", help="Only this figure: tps, p99, ratio, critical, the name of a claim.", metavar="FIGURE"),
    ] = None
    machine: Annotated[
        str | None, Option("--machine", help="Only runs of machines that have TEXT in their name.", metavar="TEXT")
    ] = None
    output: Annotated[
        Path | None, Option("-o", "--output", help="Write FILE: .html, .md, .json or .xml (JUnit).", metavar="FILE")
    ] = None
    fail_on: Annotated[
        str | None,
        Option("--fail-on", help="Exit with 3 if a figure changed for the worse in the newest runs.", metavar="worse"),
    ] = None
    force: Force = False
    as_json: AsJson = False
