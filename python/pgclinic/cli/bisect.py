"""``pgclinic bisect``: in which release the performance of a workload changed."""

from __future__ import annotations

from pathlib import Path

import typer

from pgclinic.cli import tuning_options as options


def bisect(
    context: typer.Context,
    script: list[str] = typer.Argument(
        None, help="What clients run: pgbench files or builtin:NAME, optionally @WEIGHT.", metavar="SCRIPT..."
    ),
    versions: str | None = typer.Option(
        None,
        "--versions",
        help="Releases: 13..18, 16.0..17.4 (with all minor releases between), or a list 13,15,17.2.",
        metavar="VERSIONS",
    ),
    bindir: list[Path] = typer.Option(
        [], "--bindir", help="Binaries of one release, in their order; repeatable.", metavar="DIR"
    ),
    idle: int = typer.Option(0, "--idle", help="Idle connections beside the clients.", min=0, metavar="N"),
    settings: list[str] = typer.Option([], "--set", help="A setting of all releases.", metavar="NAME=VALUE"),
    budget: str = typer.Option("20m", "--budget", help="Time for all trials.", metavar="TIME"),
    schema: options.Schema = None,
    scale: options.Scale = None,
    twin: options.Twin = None,
    tpcc: options.Tpcc = False,
    warehouses: options.Warehouses = 1,
    clients: options.Clients = None,
    threads: options.Threads = 1,
    protocol: options.SentBy = "simple",
    warm_up: options.WarmUp = "1s",
    measure: options.Measure = "3s",
    seed: options.Seed = None,
    resume: options.Resume = None,
    allow_shell: options.AllowShell = False,
    runs: options.Runs = Path("runs"),
    as_json: options.AsJson = False,
) -> None:
    """Find the releases in which a workload became faster or slower, with one error for all comparisons.

    Exit code 4: no change was found, and neighbours are not known to be equal either.
    """
    from pgclinic.cli.bisect_run import BisectRequest, run_bisect

    given = {**context.params, "scripts": context.params["script"] or []}
    given.pop("bindir")
    request = BisectRequest(
        versions=versions,
        bindirs=tuple(bindir),
        idle=idle,
        settings=tuple(settings),
        asked=options.asked_of(given),
        resume=resume,
        budget_is_given=options.is_given(context, "budget"),
    )
    raise typer.Exit(run_bisect(request))
