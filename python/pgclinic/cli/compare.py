"""``pgclinic compare``: two arms, any difference between them, one answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pgclinic.cli.study import ALLOW_SHELL_HELP

if TYPE_CHECKING:
    from pgclinic.cli.compare_end import Ending

ARM_HELP = (
    "What makes {name} different, as often as needed. KEY is version, bindir, dsn, script, schema, clients, set:NAME "
    "(a setting), var:NAME (a variable of the script), condition:held, condition:idle or condition:checkpoint."
)


#: What may stand beside --resume: what becomes of the answer, and addresses whose passwords no run folder keeps.
BESIDE_RESUME = frozenset(
    [
        "a",
        "b",
        "dsn",
        "resume",
        "blocks",
        "budget",
        "pool_machines",
        "allow_shell",
        "fail_if",
        "strict",
        "as_json",
        "junit",
        "markdown",
        "bencher",
        "otava",
        "force",
    ]
)


def compare(
    context: typer.Context,
    a: list[str] = typer.Option([], "--a", help=ARM_HELP.format(name="a"), metavar="KEY=VALUE"),
    b: list[str] = typer.Option([], "--b", help=ARM_HELP.format(name="b"), metavar="KEY=VALUE"),
    files: list[Path] = typer.Option([], "--from", help="A study of two arms, or two files of one.", metavar="FILE"),
    scripts: list[str] = typer.Option(
        [], "--script", help="What both run: a pgbench file or builtin:NAME, @WEIGHT behind it.", metavar="SCRIPT"
    ),
    schema: str | None = typer.Option(None, "--schema", help="SQL that makes the data, once.", metavar="FILE"),
    scale: int | None = typer.Option(None, "-s", "--scale", help="Scale of pgbench's tables, without --schema.", min=1),
    tpcc: bool = typer.Option(False, "--tpcc", help="TPC-C in place of scripts."),
    warehouses: int = typer.Option(1, "--warehouses", help="TPC-C's size.", min=1),
    clients: int | None = typer.Option(None, "-c", "--client", help="Sessions; TPC-C: 10 a warehouse.", min=1),
    threads: int = typer.Option(1, "-j", "--jobs", help="Threads of the load engine.", min=1),
    protocol: str = typer.Option("simple", "-M", "--protocol", help="simple, extended or prepared."),
    settings: list[str] = typer.Option([], "--set", help="A setting for both.", metavar="NAME=VALUE"),
    version: str | None = typer.Option(None, "--version", help="PostgreSQL for both.", metavar="VERSION"),
    bindir: Path | None = typer.Option(None, "--bindir", help="Programs of an installed one for both.", metavar="DIR"),
    dsn: str | None = typer.Option(None, "--dsn", help="An existing server for both."),
    existing: bool = typer.Option(False, "--existing", help="Run on the tables that --dsn has; create nothing."),
    allow_writes: bool = typer.Option(False, "--allow-writes", help="With --existing: not only read them."),
    warm_up: str = typer.Option("2s", "--warm-up", help="Before measuring, each trial; or steady.", metavar="TIME"),
    measure: str = typer.Option("10s", "--measure", help="How long each trial measures.", metavar="TIME"),
    blocks: int | None = typer.Option(None, "--blocks", help="So many blocks, neither more nor fewer.", metavar="N"),
    budget: str | None = typer.Option(None, "--budget", help="At most this long, less if clear [5m; steady 8m]."),
    prelude: bool | None = typer.Option(None, "--prelude/--no-prelude", help="First a against itself [from 4 min on]."),
    seed: int | None = typer.Option(None, "--seed", help="Repeat the random order of an earlier run.", min=0),
    resume: Path | None = typer.Option(None, "--resume", help="Resume a run, or extend it.", metavar="RUN"),
    pool_machines: bool = typer.Option(False, "--pool-machines", help="Resume a run of another machine, in doubt."),
    fail_if: list[str] = typer.Option(
        [], "--fail-if", help='Exit with 3 if the whole interval says so: "b<0.95a", "b.p99>1.1a".', metavar="CONDITION"
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit with 4 if it stays undecided."),
    junit: str | None = typer.Option(None, "--junit", help="Write JUnit XML; - is stdout.", metavar="FILE"),
    markdown: str | None = typer.Option(None, "--markdown", help="Write Markdown.", metavar="FILE"),
    bencher: str | None = typer.Option(None, "--bencher", help="Write Bencher Metric Format.", metavar="FILE"),
    otava: str | None = typer.Option(None, "--otava", help="Write CSV for Apache Otava.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Overwrite the files of these exports."),
    allow_shell: bool = typer.Option(False, "--allow-shell", help=ALLOW_SHELL_HELP),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Where run folders go.", envvar="PGCLINIC_RUNS"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """Compare two arms: versions, settings, scripts, schemas, servers.

    Exit code 0: answered, or open without --strict. 3: a --fail-if is crossed. 4: invalid, or open with --strict.
    """
    from pgclinic.cli.compare_end import Ending
    from pgclinic.cli.compare_exports import Exports
    from pgclinic.cli.compare_run import Data, Lasting, Request, Servers, Sessions, run_comparison

    ending = Ending(tuple(fail_if), strict, Exports(junit, markdown, bencher, otava, force), as_json)
    if resume is not None or pool_machines:
        raise typer.Exit(_resumed(context, resume, ending))
    request = Request(
        a=tuple(a),
        b=tuple(b),
        files=tuple(files),
        scripts=tuple(scripts),
        data=Data(schema, scale, warehouses if tpcc else None, existing, allow_writes),
        sessions=Sessions(clients, threads, protocol),
        settings=tuple(settings),
        servers=Servers(version=version, bindir=bindir, dsn=dsn),
        lasting=Lasting(warm_up, measure, blocks, budget, prelude),
        seed=seed,
        ending=ending,
        runs=runs,
        allow_shell=allow_shell,
    )
    raise typer.Exit(run_comparison(request))


def _resumed(context: typer.Context, run: Path | None, ending: Ending) -> int:
    """Go on with a run. Raises UsageError for whatever would make it another comparison."""
    from pgclinic.cli.compare_resume import ResumeRequest, resume_comparison
    from pgclinic.cli.more_blocks import More
    from pgclinic.errors import UsageError

    if run is None:
        raise UsageError("--pool-machines belongs to --resume")
    sources = {key: context.get_parameter_source(key) for key in context.params}
    given = {key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    words = [*context.params["a"], *context.params["b"]]
    if given - BESIDE_RESUME or any(not word.startswith("dsn=") for word in words):
        raise UsageError("--resume goes on with the arms, length, seed and servers of the run: leave them out")
    common = context.params["dsn"]
    dsns = [word.removeprefix("dsn=") for word in words] + ([common] if common is not None else [])
    more = More(context.params["blocks"], context.params["budget"])
    may = context.params
    return resume_comparison(
        ResumeRequest(run, tuple(dsns), more, may["pool_machines"], ending, allow_shell=may["allow_shell"])
    )
