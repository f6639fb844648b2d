"""``pgclinic bisect``: in which release the performance of a workload changed."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.record import options
from pgclinic.cli.options.server import Settings
from pgclinic.cli.options.tuning import TuningOptions
from pgclinic.cli.options.workload import WorkloadOptions


@options
class BisectWorkloadOptions(WorkloadOptions):
    """Scripts are arguments."""

    scripts: Annotated[
        tuple[str, ...],
        Argument(help="pgbench files or builtin:NAME, optionally @WEIGHT.", metavar="SCRIPT...", show_default=False),
    ] = ()


@options
class BisectTuningOptions(TuningOptions):
    """The same workload on all releases."""

    workload: BisectWorkloadOptions


@options
class BisectRequest:
    """Find the releases in which a workload became faster or slower, with one error for all comparisons.

    Exit code 4: no change was found, and neighbours are not known to be equal either.
    """

    versions: Annotated[
        str | None,
        Option(
            "--versions",
            help="Releases: 13..18, 16.0..17.4 (with all minor releases between), or a list 13,15,17.2.",
            metavar="VERSIONS",
        ),
    ] = None
    bindirs: Annotated[
        tuple[Path, ...],
        Option(
            "--bindir",
            help="Directory with the binaries of one release, in the order of the releases; repeatable.",
            metavar="DIR",
        ),
    ] = ()
    idle: Annotated[int, Option("--idle", help="Idle connections beside the clients.", min=0, metavar="N")] = 0
    settings: Settings = ()
    tuning: BisectTuningOptions
