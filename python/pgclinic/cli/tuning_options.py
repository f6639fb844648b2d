"""The options of ``assay``, ``search`` and ``bisect``: which workload runs on which data, for how long."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pgclinic.cli.study import ALLOW_SHELL_HELP

Scripts = Annotated[
    list[str] | None,
    typer.Option("--script", help="pgbench file or builtin:NAME, optionally @WEIGHT.", metavar="SCRIPT"),
]
Schema = Annotated[str | None, typer.Option("--schema", help="SQL that creates the data.", metavar="FILE")]
Scale = Annotated[
    float | None,
    typer.Option("-s", "--scale", help="Scale of pgbench's tables; with --twin rows per row of the original."),
]
Twin = Annotated[
    Path | None,
    typer.Option(
        "--twin", help="A captured live database, with its workload unless --script is given.", metavar="FILE"
    ),
]
Tpcc = Annotated[bool, typer.Option("--tpcc", help="Run TPC-C instead of scripts.")]
Warehouses = Annotated[int, typer.Option("--warehouses", help="Number of TPC-C warehouses.", min=1)]
Clients = Annotated[
    int | None, typer.Option("-c", "--client", help="Clients; TPC-C: 10 per warehouse.", min=1, show_default=False)
]
Threads = Annotated[int, typer.Option("-j", "--jobs", help="Number of threads of the load engine.", min=1)]
SentBy = Annotated[str, typer.Option("-M", "--protocol", help="simple, extended or prepared.")]
Version = Annotated[str | None, typer.Option("--version", help="PostgreSQL version.", metavar="VERSION")]
Bindir = Annotated[Path | None, typer.Option("--bindir", help="Binaries of an installed PostgreSQL.", metavar="DIR")]
WarmUp = Annotated[str, typer.Option("--warm-up", help="Warm-up of each trial.", metavar="TIME")]
Measure = Annotated[str, typer.Option("--measure", help="Measured time of each trial.", metavar="TIME")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of all that is drawn.", min=0, show_default=False)]
Resume = Annotated[Path | None, typer.Option("--resume", help="Resume an interrupted run.", metavar="RUN")]
AllowShell = Annotated[bool, typer.Option("--allow-shell", help=ALLOW_SHELL_HELP)]
Runs = Annotated[Path, typer.Option("--runs", help="Directory of the run folders.", envvar="PGCLINIC_RUNS")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Asked:
    """These options as they were given."""

    scripts: tuple[str, ...]
    schema: str | None
    scale: float | None
    twin: Path | None
    warehouses: int | None
    clients: int | None
    threads: int
    protocol: str
    warm_up: str
    measure: str
    budget: str
    seed: int | None
    runs: Path
    as_json: bool
    allow_shell: bool
    version: str | None = None
    bindir: Path | None = None

    @property
    def has_traffic(self) -> bool:
        """Whether the user said what clients do, or on which data."""
        return bool(self.scripts or self.schema or self.twin or self.warehouses)


def asked_of(given: dict[str, object]) -> Asked:
    """From the parameters of a command."""
    picked = {name: given[name] for name in Asked.__dataclass_fields__ if name in given}
    picked["scripts"] = tuple(given["scripts"] or ())  # type: ignore[arg-type]
    picked["warehouses"] = given["warehouses"] if given["tpcc"] else None
    return Asked(**picked)  # type: ignore[arg-type]


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the user wrote this option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
