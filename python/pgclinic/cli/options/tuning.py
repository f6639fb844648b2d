"""Options of the adaptive experiments: of ``assay``, ``search`` and ``bisect``."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.export import AsJson, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import RunOptions
from pgclinic.cli.options.workload import WorkloadOptions

Budget = Annotated[str, Option("--budget", help="Time for all trials.", metavar="TIME")]
Base = Annotated[
    Path | None,
    Option("--base", help="Compare with the settings of this file [PostgreSQL's defaults].", metavar="FILE"),
]


@options
class TuningOptions:
    """The workload of all trials, how long they take, and their run."""

    budget: Budget = "20m"
    workload: WorkloadOptions
    warm_up: Annotated[str, Option("--warm-up", help="Warm-up of each trial.", metavar="TIME")] = "1s"
    measure: Annotated[str, Option("--measure", help="Measured time of each trial.", metavar="TIME")] = "3s"
    run: RunOptions
    plain: Plain = False
    as_json: AsJson = False
