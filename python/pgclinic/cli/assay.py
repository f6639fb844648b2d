"""``pgclinic assay``: which of the settings that differ from a base carry the difference."""

from __future__ import annotations

from pathlib import Path

import typer

from pgclinic.cli import tuning_options as options


def assay(
    context: typer.Context,
    target: str | None = typer.Argument(
        None,
        help="The settings in question: a postgresql.conf, the connection string of a live server, or a twin.",
        metavar="FILE.conf|DSN|FILE.twin",
        show_default=False,
    ),
    settings: list[str] = typer.Option([], "--set", help="One more setting in question.", metavar="NAME=VALUE"),
    base: Path | None = typer.Option(
        None, "--base", help="Compare with the settings of this file [PostgreSQL's defaults].", metavar="FILE"
    ),
    budget: str = typer.Option("20m", "--budget", help="Time for all trials.", metavar="TIME"),
    scripts: options.Scripts = None,
    schema: options.Schema = None,
    scale: options.Scale = None,
    twin: options.Twin = None,
    tpcc: options.Tpcc = False,
    warehouses: options.Warehouses = 1,
    clients: options.Clients = None,
    threads: options.Threads = 1,
    protocol: options.SentBy = "simple",
    version: options.Version = None,
    bindir: options.Bindir = None,
    warm_up: options.WarmUp = "1s",
    measure: options.Measure = "3s",
    seed: options.Seed = None,
    resume: options.Resume = None,
    allow_shell: options.AllowShell = False,
    runs: options.Runs = Path("runs"),
    as_json: options.AsJson = False,
) -> None:
    """Name the settings that carry a slowdown or a gain, each measured, and the smallest set that does it.

    A live server is only read: the experiment runs in the lab, on the same major version and without a workload of
    yours on a twin of the database. Exit code 4: the difference is undecided, or was not measured.
    """
    from pgclinic.cli.assay_run import AssayRequest, run_assay

    request = AssayRequest(
        target=target,
        settings=tuple(settings),
        base=base,
        asked=options.asked_of(context.params),
        resume=resume,
        budget_is_given=options.is_given(context, "budget"),
    )
    raise typer.Exit(run_assay(request))
