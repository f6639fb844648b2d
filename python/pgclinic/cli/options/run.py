"""Options of a run: its seed, its folder, how it is resumed, and where its blocks run."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.record import Written, options

Runs = Annotated[Path, Option("--runs", help="Directory of the run folders.", envvar="PGCLINIC_RUNS")]
Kind = Annotated[
    str | None, Option("--kind", help="Only runs of this command: study, compare, bench, checkup, ...", metavar="KIND")
]


@options
class RunOptions:
    """One experiment, new or resumed; ``written`` are the options that stand on the command line."""

    seed: Annotated[int | None, Option("--seed", help="Seed of the random generator.", min=0)] = None
    resume: Annotated[Path | None, Option("--resume", help="Resume or extend a run.", metavar="RUN")] = None
    runs: Runs = Path("runs")
    written: Written = frozenset()


@options
class HostOptions:
    """On which machines the blocks of a run may be executed."""

    pool_machines: Annotated[bool, Option("--pool-machines", help="Resume a run of a different machine.")] = False
    fleet: Annotated[
        str | None,
        Option("--fleet", help="Run blocks on the hosts of a Ray cluster.", metavar="ray://ADDRESS"),
    ] = None
