"""``pgclinic assay``: which of the settings that differ from a base carry the difference."""

from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.record import options
from pgclinic.cli.options.server import LabServerOptions
from pgclinic.cli.options.tuning import Base, TuningOptions


@options
class AssayRequest:
    """Name the settings that carry a slowdown or a gain, each measured, and the smallest set that does it.

    A live server is only read: the experiment runs in the lab, on the same major version and without a workload of
    yours on a twin of the database. Exit code 4: the difference is undecided, or was not measured.
    """

    target: Annotated[
        str | None,
        Argument(
            help="The settings in question: a postgresql.conf, the connection string of a live server, or a twin.",
            metavar="FILE.conf|DSN|FILE.twin",
            show_default=False,
        ),
    ] = None
    settings: Annotated[
        tuple[str, ...], Option("--set", help="One more setting in question; repeatable.", metavar="NAME=VALUE")
    ] = ()
    base: Base = None
    server: LabServerOptions
    tuning: TuningOptions
