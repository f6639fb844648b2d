"""``pgclinic upgrade``: what another major version does to a workload."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.answer import FailIf, Strict
from pgclinic.cli.options.export import AsJson, Force, Junit, Markdown, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import RunOptions


@options
class UpgradeExports:
    """Where the answer is written beside the terminal."""

    markdown: Markdown = None
    junit: Junit = None
    force: Force = False

    @property
    def places(self) -> dict[str, str]:
        """The place of each export that is asked for, by its option."""
        every = (("--markdown", self.markdown), ("--junit", self.junit))
        return {option: place for option, place in every if place is not None}


@options
class UpgradeRequest:
    """Measure a workload on another major version: what has to be done before, what changes, and why.

    The server is only read: a twin of it runs in the lab on both versions. In --fail-if a is the old version and b the
    new one. Exit code 3: --fail-if crossed. 4: the blocks are invalid, or undecided with --strict.
    """

    original: Annotated[
        str | None,
        Argument(help="Connection string or URI of the server, or the file of a twin.", metavar="DSN|FILE.twin"),
    ] = None
    to: Annotated[
        str | None, Option("--to", help="Version to upgrade to, such as 18 (its newest release).", metavar="VERSION")
    ] = None
    bindir: Annotated[
        Path | None,
        Option(
            "--bindir",
            help="Directory with the binaries of an installed PostgreSQL to upgrade to, in place of --to.",
            metavar="DIR",
        ),
    ] = None
    from_: Annotated[
        str | None,
        Option("--from", help="Version to upgrade from [the newest of the original's branch].", metavar="VERSION"),
    ] = None
    budget: Annotated[str, Option("--budget", help="Time for everything.", metavar="TIME")] = "10m"
    scale: Annotated[
        float | None,
        Option("--scale", help="Rows of the twin per row of the original [1, less in a small budget]."),
    ] = None
    clients: Annotated[
        int | None, Option("-c", "--client", help="Number of clients [as many as were active].", min=1)
    ] = None
    observe: Annotated[
        str, Option("--observe", help="Count the statements of a live server for TIME.", metavar="TIME")
    ] = "10s"
    bisect: Annotated[bool, Option("--bisect", help="Name the release since which each statement is slower.")] = False
    blocks: Annotated[
        bool, Option("--blocks/--no-blocks", help="Measure the throughput of the whole workload in blocks.")
    ] = True
    fail_if: FailIf = ()
    strict: Strict = False
    run: RunOptions
    exports: UpgradeExports = UpgradeExports()
    plain: Plain = False
    as_json: AsJson = False
