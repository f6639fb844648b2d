"""Options of the workload: what clients send, and on which data."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.record import options

AllowShell = Annotated[bool, Option("--allow-shell", help="Allow scripts to run shell commands (\\shell, \\setshell).")]
TwinScale = Annotated[float, Option("--scale", help="Rows of the twin per row of the original, such as 0.1.")]


@options
class WorkloadOptions:
    """pgbench's tables and its default script, unless these options say otherwise."""

    scripts: Annotated[
        tuple[str, ...],
        Option("--script", help="pgbench file or builtin:NAME, optionally @WEIGHT; repeatable.", metavar="SCRIPT"),
    ] = ()
    schema: Annotated[str | None, Option("--schema", help="SQL that creates the data.", metavar="FILE")] = None
    scale: Annotated[
        float | None,
        Option("-s", "--scale", help="Scale of pgbench's tables; with --twin rows per row of the original."),
    ] = None
    twin: Annotated[
        Path | None,
        Option("--twin", help="A captured live database, with its workload unless --script is given.", metavar="FILE"),
    ] = None
    tpcc: Annotated[bool, Option("--tpcc", help="Run TPC-C instead of scripts.")] = False
    warehouses: Annotated[int, Option("--warehouses", help="Number of TPC-C warehouses.", min=1)] = 1
    clients: Annotated[
        int | None, Option("-c", "--client", help="Number of clients; TPC-C: 10 per warehouse.", min=1)
    ] = None
    threads: Annotated[int, Option("-j", "--jobs", help="Number of threads of the load engine.", min=1)] = 1
    protocol: Annotated[str, Option("-M", "--protocol", help="simple, extended or prepared.")] = "simple"
    allow_shell: AllowShell = False

    @property
    def is_given(self) -> bool:
        """Whether the user has said what clients send, or on which data."""
        return bool(self.scripts or self.schema or self.twin or self.tpcc)

    @property
    def tpcc_warehouses(self) -> int | None:
        """The number of warehouses, None where TPC-C does not run."""
        return self.warehouses if self.tpcc else None
