"""``pgclinic report``: the report of a kept run, written again. Connects to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import Force
from pgclinic.cli.options.run import Runs


def report(
    run: Annotated[Path, Argument(help="Run folder, or its name in the directory of the runs.", metavar="RUN")],
    other: Annotated[
        Path | None, Argument(help="A second run: both side by side.", metavar="RUN2", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Write FILE: .html, .md or .json [report.html in the run folder; of two runs, text to stdout].",
            metavar="FILE",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    force: Force = False,
) -> None:
    """Write the report of a kept run: a page, Markdown or JSON.

    Runs of all commands have one. Of two runs it shows in what they differ and what both have measured. A study or a
    comparison is judged again by its stored trials. Nothing is run, and no server is connected to.
    """
    from pgclinic.cli.report_run import side_by_side_of, write_report

    if other is None:
        print(write_report(run, runs, output, force=force))
    else:
        print(side_by_side_of((run, other), runs, output, force=force))
