"""``pgclinic twin``: what can be said of a twin before anything is judged by it."""

from __future__ import annotations

from pathlib import Path

import typer

from pgclinic.cli.capture_twin import DSN_HELP

twin_app = typer.Typer(
    help="Twins of live databases: how alike they are to their originals.", no_args_is_help=True, rich_markup_mode=None
)
#: A figure is not reached.
_MISSED = 3


@twin_app.callback()
def twin() -> None:
    """Twins of live databases: how alike they are to their originals."""


@twin_app.command("check")
def check(
    file: Path = typer.Argument(help="A twin that `pgclinic capture twin` wrote."),
    against: str | None = typer.Option(
        None, "--against", metavar="DSN", help=f"Also compare query plans with the original, by EXPLAIN. {DSN_HELP}"
    ),
    version: str | None = typer.Option(None, "--version", help="Version of the server. Default: that of the original."),
    bindir: Path | None = typer.Option(None, "--bindir", help="Directory with the binaries of an installed version."),
    scale: float = typer.Option(1.0, "--scale", help="Rows of the twin per row of the original, such as 0.1."),
    seconds: str = typer.Option("10s", "--time", metavar="TIME", help="How long the workload runs, such as 30s."),
    clients: int | None = typer.Option(
        None, "--clients", min=1, help="Sessions of the workload. Default: as many as worked on the original."
    ),
    rate: float | None = typer.Option(
        None, "--rate", min=0.001, help="Transactions per second, as an open loop. Default: as fast as the server is."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print all figures and statements as JSON."),
) -> None:
    """Build a twin in the lab, run its workload there, and compare it with what was captured."""
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.lab_output import print_json, progress_line, say_cleaned
    from pgclinic.experiment.twin_check import CheckRequest, check_twin
    from pgclinic.lab.binaries import Progress
    from pgclinic.lab.sources import find_source
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.twin_text import fidelity_text
    from pgclinic.twin.file import read_twin

    request = CheckRequest(seconds=parse_duration_s(seconds, "--time"), clients=clients, scale=scale, rate_tps=rate)
    wanted = version if bindir is not None or version else str(read_twin(file).version_num // 10_000)
    original = reach_dsn(against) if against is not None else None
    say_cleaned()
    with progress_line() as on_progress:
        found = check_twin(
            file,
            find_source(wanted, bindir).ensure(on_progress),
            request,
            against=original,
            on_stage=lambda stage: on_progress(Progress(what=stage, done_bytes=0)),
        ).fidelity
    if as_json:
        print_json(found)
    else:
        print(fidelity_text(found, file.name))
    if not found.is_reached:
        raise typer.Exit(_MISSED)
