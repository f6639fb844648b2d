"""``pgclinic search``: the slowest or fastest configuration for a workload."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.export import Force
from pgclinic.cli.options.record import options
from pgclinic.cli.options.server import LabServerOptions
from pgclinic.cli.options.tuning import Base, Budget, TuningOptions


@options
class SearchTuningOptions(TuningOptions):
    """A search takes longer than an assay."""

    budget: Budget = "30m"


@options
class SearchRequest:
    """Search for the slowest or fastest configuration by trials, and confirm what was found by fresh blocks.

    Settings that make commits unsafe, end the work of clients, fill the disk or exceed the memory are tried only if
    --allow names them. Exit code 4: nothing was found, or it could not be confirmed.
    """

    worst: Annotated[bool, Option("--worst", help="Find the slowest configuration.")] = False
    best: Annotated[bool, Option("--best", help="Find the fastest configuration.")] = False
    base: Base = None
    start: Annotated[Path | None, Option("--from", help="Start with the settings of this file.", metavar="FILE")] = None
    allow: Annotated[
        tuple[str, ...],
        Option(
            "--allow",
            help="Also try what risks: durability, kills_work, fills_disk, exceeds_memory; repeatable.",
            metavar="RISK",
        ),
    ] = ()
    allow_unsafe: Annotated[bool, Option("--allow-unsafe", help="The same as --allow durability.")] = False
    only: Annotated[tuple[str, ...], Option("--only", help="Try this setting only; repeatable.", metavar="NAME")] = ()
    within: Annotated[
        str,
        Option("--within", help="With --worst: a transaction must be committed in this time.", metavar="TIME"),
    ] = "120s"
    p99: Annotated[
        str | None,
        Option("--p99", help="With --best: maximum p99 latency, as a ratio to the base [1.1x].", metavar="RATIO"),
    ] = None
    memory: Annotated[
        str | None,
        Option("--memory", help="With --best: memory that the server may use [half the machine].", metavar="SIZE"),
    ] = None
    output: Annotated[
        Path | None, Option("-o", "--output", help="Write the configuration to FILE.", metavar="FILE")
    ] = None
    force: Force = False
    server: LabServerOptions
    tuning: SearchTuningOptions
