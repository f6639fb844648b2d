"""Options of the server: which PostgreSQL runs, with which settings."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pgclinic.cli.options.record import options

if TYPE_CHECKING:
    from pgclinic.experiment.servers import ServerAsked

DSN_HELP = "Connection string or URI of the server."
Dsn = Annotated[str, Argument(help=DSN_HELP)]
Bindir = Annotated[
    Path | None, Option("--bindir", help="Directory with the binaries of an installed PostgreSQL.", metavar="DIR")
]
Settings = Annotated[
    tuple[str, ...], Option("--set", help="A setting of all servers; repeatable.", metavar="NAME=VALUE")
]


@options
class LabServerOptions:
    """A server that the lab starts, by default the embedded one."""

    version: Annotated[
        str | None,
        Option("--version", help="PostgreSQL version, such as 17 (its newest release) or 13.3.", metavar="VERSION"),
    ] = None
    bindir: Bindir = None

    def asked(self) -> "ServerAsked":
        """Return what an experiment chooses its server by."""
        from pgclinic.experiment.servers import ServerAsked

        return ServerAsked(self.version, self.bindir)


@options
class ServerOptions(LabServerOptions):
    """A server of the lab, or an existing one."""

    dsn: Annotated[str | None, Option("--dsn", help="Connection string or URI of an existing server.")] = None
    existing: Annotated[bool, Option("--existing", help="Run on the existing tables of --dsn; create nothing.")] = False
    allow_writes: Annotated[bool, Option("--allow-writes", help="With --existing: allow scripts to write.")] = False

    def asked(self) -> "ServerAsked":
        return replace(super().asked(), dsn=self.dsn, existing=self.existing, allow_writes=self.allow_writes)
