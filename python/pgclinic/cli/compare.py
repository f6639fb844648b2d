"""``pgclinic compare``: two arms, any difference between them, one answer."""

from __future__ import annotations

from pathlib import Path

import typer

ARM_HELP = (
    "What makes {name} different, as often as needed. KEY is version, bindir, dsn, script, schema, clients, set:NAME "
    "(a setting), var:NAME (a variable of the script), condition:held, condition:idle or condition:checkpoint."
)


def compare(
    a: list[str] = typer.Option([], "--a", help=ARM_HELP.format(name="a"), metavar="KEY=VALUE"),
    b: list[str] = typer.Option([], "--b", help=ARM_HELP.format(name="b"), metavar="KEY=VALUE"),
    files: list[Path] = typer.Option(
        [], "--from", help="A study file with two arms, or two files with an arm each.", metavar="FILE"
    ),
    scripts: list[str] = typer.Option(
        [], "--script", help="What both run: a pgbench file or builtin:NAME, @WEIGHT behind it.", metavar="SCRIPT"
    ),
    schema: str | None = typer.Option(None, "--schema", help="SQL that makes the data, once.", metavar="FILE"),
    scale: int = typer.Option(1, "-s", "--scale", help="Without --schema: pgbench's tables of this scale.", min=1),
    tpcc: bool = typer.Option(False, "--tpcc", help="TPC-C in place of scripts."),
    warehouses: int = typer.Option(1, "--warehouses", help="TPC-C's size.", min=1),
    clients: int | None = typer.Option(None, "-c", "--client", help="Sessions; TPC-C: 10 a warehouse.", min=1),
    threads: int = typer.Option(1, "-j", "--jobs", help="Threads of the load engine.", min=1),
    protocol: str = typer.Option("simple", "-M", "--protocol", help="simple, extended or prepared."),
    settings: list[str] = typer.Option([], "--set", help="A setting for both.", metavar="NAME=VALUE"),
    version: str | None = typer.Option(None, "--version", help="PostgreSQL for both.", metavar="VERSION"),
    bindir: Path | None = typer.Option(None, "--bindir", help="Programs of an installed one for both.", metavar="DIR"),
    dsn: str | None = typer.Option(None, "--dsn", help="An existing server for both."),
    warm_up: str = typer.Option("2s", "--warm-up", help="Before measuring, each trial.", metavar="TIME"),
    measure: str = typer.Option("10s", "--measure", help="How long each trial measures.", metavar="TIME"),
    blocks: int | None = typer.Option(None, "--blocks", help="So many blocks, neither more nor fewer.", metavar="N"),
    budget: str | None = typer.Option(None, "--budget", help="At most this long, less if it is clear [5m]."),
    prelude: bool | None = typer.Option(
        None, "--prelude/--no-prelude", help="First a minute of a against itself [with 4 min or more]."
    ),
    seed: int | None = typer.Option(None, "--seed", help="Repeat the random order of an earlier run.", min=0),
    fail_if: list[str] = typer.Option(
        [], "--fail-if", help='Exit with 3 if the whole interval says so: "b<0.95a", "b.p99>1.1a".', metavar="CONDITION"
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit with 4 if it stays undecided."),
    junit: str | None = typer.Option(None, "--junit", help="Write JUnit XML; - is stdout.", metavar="FILE"),
    markdown: str | None = typer.Option(None, "--markdown", help="Write Markdown.", metavar="FILE"),
    bencher: str | None = typer.Option(None, "--bencher", help="Write Bencher Metric Format.", metavar="FILE"),
    otava: str | None = typer.Option(None, "--otava", help="Write CSV for Apache Otava.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Overwrite the files of these exports."),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Where run folders go.", envvar="PGCLINIC_RUNS"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """Compare two arms: versions, settings, scripts, schemas, servers.

    Exit code 0: answered, or open without --strict. 3: a --fail-if is crossed. 4: invalid, or open with --strict.
    """
    from pgclinic.cli.compare_exports import Exports
    from pgclinic.cli.compare_run import Lasting, Request, Servers, run_comparison

    request = Request(
        a=tuple(a),
        b=tuple(b),
        files=tuple(files),
        scripts=tuple(scripts),
        schema=schema,
        scale=scale,
        warehouses=warehouses if tpcc else None,
        clients=clients,
        threads=threads,
        protocol=protocol,
        settings=tuple(settings),
        servers=Servers(version=version, bindir=bindir, dsn=dsn),
        lasting=Lasting(warm_up, measure, blocks, budget, prelude),
        seed=seed,
        fail_if=tuple(fail_if),
        strict=strict,
        exports=Exports(junit=junit, markdown=markdown, bencher=bencher, otava=otava, force=force),
        runs=runs,
        as_json=as_json,
    )
    raise typer.Exit(run_comparison(request))
