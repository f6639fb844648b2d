"""``pgclinic search``: the slowest or fastest configuration for a workload."""

from __future__ import annotations

from pathlib import Path

import typer

from pgclinic.cli import tuning_options as options


def search(
    context: typer.Context,
    worst: bool = typer.Option(False, "--worst", help="Find the slowest configuration."),
    best: bool = typer.Option(False, "--best", help="Find the fastest configuration."),
    base: Path | None = typer.Option(
        None, "--base", help="The settings to compare with [PostgreSQL's defaults].", metavar="FILE"
    ),
    start: Path | None = typer.Option(None, "--from", help="Begin with the settings of this file.", metavar="FILE"),
    allow: list[str] = typer.Option(
        [], "--allow", help="Also try what risks: durability, kills_work, fills_disk, exceeds_memory.", metavar="RISK"
    ),
    allow_unsafe: bool = typer.Option(False, "--allow-unsafe", help="The same as --allow durability."),
    only: list[str] = typer.Option([], "--only", help="Try this setting only; repeatable.", metavar="NAME"),
    within: str = typer.Option(
        "120s", "--within", help="With --worst: a transaction must be committed in this time.", metavar="TIME"
    ),
    p99: str | None = typer.Option(
        None, "--p99", help="With --best: maximum p99 latency, as a ratio to the base [1.1x].", metavar="RATIO"
    ),
    memory: str | None = typer.Option(
        None, "--memory", help="With --best: memory that the server may use [half the machine].", metavar="SIZE"
    ),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write the configuration to FILE.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
    budget: str = typer.Option("30m", "--budget", help="Time for all trials.", metavar="TIME"),
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
    """Search for the slowest or fastest configuration by trials, and confirm what was found by fresh blocks.

    Settings that make commits unsafe, end the work of clients, fill the disk or exceed the memory are tried only if
    --allow names them. Exit code 4: nothing was found, or it could not be confirmed.
    """
    from pgclinic.cli.search_run import SearchRequest, run_search

    request = SearchRequest(
        worst=worst,
        best=best,
        base=base,
        start=start,
        allow=(*allow, *(("durability",) if allow_unsafe else ())),
        only=tuple(only),
        within=within,
        p99=p99,
        memory=memory,
        output=output,
        force=force,
        asked=options.asked_of(context.params),
        resume=resume,
        budget_is_given=options.is_given(context, "budget"),
    )
    raise typer.Exit(run_search(request))
